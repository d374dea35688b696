"""Faults at random, one after the other."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from chaoslib.exceptions import ActivityFailed

from chaos.actions import processes
from chaos.probes.service import restored
from chaos.trial.trial import current

MEAN_PAUSE_S = 20.0
"""Between a service that is whole again and the next fault; pauses are exponential."""

WHOLE_WITHIN_S = 90.0
KILLED = ("worker", "router", "controller", "serve-controller", "proxy", "proxy-manager")


LASTS_S = 5.0
"""Of faults that end by themselves."""

Fault = Callable[[threading.Event], object]


def _killed(part: str) -> Fault:
    return lambda over: processes.kill(part)


def _passing(begins: Callable[[], object], ends: Callable[[], object]) -> Fault:
    """A fault that ends after a few seconds, or when all is over."""

    def fault(over: threading.Event) -> None:
        begins()
        over.wait(LASTS_S)
        ends()

    return fault


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        **{f"{part} killed": _killed(part) for part in KILLED},
        "worker hangs": _passing(lambda: processes.hang("worker"), processes.resume),
        "worker slow": _passing(lambda: processes.slow_down("worker"), lambda: processes.undo("slow_down")),
        "worker without memory": _passing(
            lambda: processes.limit_memory("worker"), lambda: processes.undo("limit_memory")
        ),
    }
)
"""By name what happens."""


class RandomFaults:
    """Faults on the service of the current trial, drawn with ``seed``, until ``over``; each waits until all is whole.

    ``done`` counts them by name; ``not_restored`` says after which of them something was still missing, and what.
    """

    def __init__(self, seed: int) -> None:
        self.over = threading.Event()
        self.done: Counter[str] = Counter()
        self.not_restored: list[str] = []
        self._draw = random.Random(seed)

    def run(self) -> None:
        """Returns when ``over`` is set."""
        while not self.over.wait(self._draw.expovariate(1.0 / MEAN_PAUSE_S)):
            name = self._draw.choice(list(FAULTS))
            try:
                FAULTS[name](self.over)
                self.done[name] += 1
                if not self.over.is_set():
                    restored(WHOLE_WITHIN_S)
                current().lost_pids.clear()
            except ActivityFailed as error:
                self.not_restored.append(f"{name}: {error}")
