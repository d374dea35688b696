"""What could not be loaded lately, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from autoscaler.demand.worker_drift import RunKey
from autoscaler.placement.standing import WorkerVariant
from deployments.state.decisions import iso

FIRST_S = 60.0
"""How long a variant that could not be loaded is left out before that is tried again; twice as long after each try."""

LONGEST_S = 960.0


@dataclass(frozen=True)
class Unloadable:
    """Why a variant is left out, for how long, and until when, in seconds since the epoch."""

    reason: str
    for_s: float
    until_s: float


class UnloadableVariants:
    """Variants that nobody plans with in a pool for a while, and those that one worker is not asked to load.

    A worker alone is enough where others of its pool hold the variant: see `autoscaler.placement.transition.lacking`.
    """

    def __init__(self) -> None:
        self._of_pools: dict[RunKey, Unloadable] = {}
        self._of_workers: dict[WorkerVariant, Unloadable] = {}
        self._looked_s = 0.0

    def bar_pool(self, pool: str, variant: str, reason: str, now_s: float) -> None:
        """The pool's workers are planned without the variant for a while."""
        _bar(self._of_pools, (pool, variant), reason, now_s)

    def bar_worker(self, worker: str, variant: str, reason: str, now_s: float) -> None:
        """The worker is not asked to load the variant for a while."""
        _bar(self._of_workers, (worker, variant), reason, now_s)

    def on_loaded(self, worker: str, variant: str) -> None:
        """The worker can load it; of its pool others may not."""
        self._of_workers.pop((worker, variant), None)

    def on_served(self, pairs: Iterable[RunKey]) -> None:
        """A plan is in force with these variants in these pools."""
        for key in pairs:
            self._of_pools.pop(key, None)

    def forget(self, variant: str) -> bool:
        """The variant is another one now, or was mended; gives whether it could not be loaded somewhere."""
        before = len(self._of_pools) + len(self._of_workers)
        self._of_pools = {key: each for key, each in self._of_pools.items() if key[1] != variant}
        self._of_workers = {key: each for key, each in self._of_workers.items() if key[1] != variant}
        return len(self._of_pools) + len(self._of_workers) < before

    def on_gone(self, worker: str) -> None:
        """The worker is not there any more."""
        self._of_workers = {key: each for key, each in self._of_workers.items() if key[0] != worker}

    def in_pools(self, now_s: float) -> frozenset[RunKey]:
        """By pool and variant what is not planned with."""
        return frozenset(key for key, each in self._of_pools.items() if each.until_s > now_s)

    def on_workers(self, now_s: float) -> frozenset[WorkerVariant]:
        """By worker and variant what is not to be loaded."""
        return frozenset(key for key, each in self._of_workers.items() if each.until_s > now_s)

    def retry(self, now_s: float) -> str | None:
        """Why to plan again: the time of something has ended since the last call; None where nothing's has."""
        ended = {
            variant
            for own in (self._of_pools, self._of_workers)
            for (_, variant), each in own.items()
            if self._looked_s < each.until_s <= now_s
        }
        self._looked_s = now_s
        return f"{', '.join(sorted(ended))} may be loaded again" if ended else None

    def to_record(self, now_s: float) -> list[dict[str, Any]]:
        """What is left out, by pool or by worker, in JSON values."""
        return [
            {where: place, "variant": variant, "reason": each.reason, "until": iso(each.until_s)}
            for where, own in (("pool", self._of_pools), ("worker", self._of_workers))
            for (place, variant), each in own.items()
            if each.until_s > now_s
        ]


def _bar(own: dict[tuple[str, str], Unloadable], key: tuple[str, str], reason: str, now_s: float) -> None:
    before = own.get(key)
    if before is None:
        for_s = FIRST_S
    else:  # of several workers of a pool that fail at once, only the first counts
        for_s = before.for_s if before.until_s > now_s else min(2.0 * before.for_s, LONGEST_S)
    own[key] = Unloadable(reason, for_s, now_s + for_s)
