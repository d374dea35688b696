"""Makes a pool as large as the planner wants it: the autoscaling policy of worker deployments.

Serve runs it in its controller, on the loop that everything else waits for, and pickles this module by value.
"""

import logging
import threading
import time
import weakref
from typing import Any

from deployments.scaling import pool_sizes

logger = logging.getLogger("ray.serve")

REFRESH_S = 0.2


class PlannedSize:
    """The size that was published for the pool (`deployments.scaling.pool_sizes`); the one that it has, until one was.

    A thread reads it again and again, so that a call never waits; it ends when Serve lets go of the policy.
    """

    def __init__(self) -> None:
        self._workers: int | None = None
        self._readable = True
        self._following = False

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        """Serve asks how many replicas there shall be, and for state that it would hand to the next call."""
        if not self._following:
            self._following = True
            following = (weakref.ref(self), context.app_name, context.deployment_name)
            threading.Thread(target=_follow, args=following, name="accord-pool-size", daemon=True).start()
        return context.target_num_replicas if self._workers is None else self._workers, {}

    def refresh(self, application: str, pool: str) -> None:
        """Read the size; one that cannot be read leaves the last in force."""
        try:
            self._workers = pool_sizes.read(application, pool)
            self._readable = True
        except Exception as error:
            if self._readable:  # text only: a record with the traceback would keep this object, and its thread, alive
                text = f"{type(error).__name__}: {error}"
                logger.error("Pool %s stays as it is: the size it shall have cannot be read: %s", pool, text)
            self._readable = False


def _follow(reference: "weakref.ref[PlannedSize]", application: str, pool: str) -> None:
    while (policy := reference()) is not None:
        policy.refresh(application, pool)
        del policy  # else it would be kept alive here
        time.sleep(REFRESH_S)
