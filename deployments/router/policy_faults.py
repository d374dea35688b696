"""Says in the log that a selection policy failed: it is a fault of ours, and queries are served all the same."""

import logging
from collections.abc import Callable
from math import inf

logger = logging.getLogger("ray.serve")

SAY_EVERY_S = 60.0
"""A policy that fails may do so for every batch: each is told of that often."""


class PolicyFaults:
    """Called with a policy's name and its error; ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._count: dict[str, int] = {}
        self._said_s: dict[str, float] = {}

    def __call__(self, policy: str, error: Exception) -> None:
        """Count the fault, and say so where that was not said of late."""
        self._count[policy] = self._count.get(policy, 0) + 1
        now_s = self._clock()
        if now_s - self._said_s.get(policy, -inf) >= SAY_EVERY_S:
            self._said_s[policy] = now_s
            logger.error(
                "Policy %s failed (%d so far); the greedy policy decided instead. Please report this.",
                policy,
                self._count[policy],
                exc_info=error,
            )
