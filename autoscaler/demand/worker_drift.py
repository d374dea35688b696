"""How far the workers of a pool are from a profile, each for itself and all together."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from autoscaler.demand.profile_drift import DEADBAND, PRIOR_BATCHES, ProfileDrift

RunKey = tuple[str, str]
"""Pool and variant."""

GONE = ""
"""Stands for all workers of a pool that are there no more."""

ENOUGH = 10.0
"""Batches, in what they are worth now, from which on a worker is spoken of: the 95th percentile of fewer is next to
their largest."""

FORGOTTEN = 0.01
LATE_S = 900.0
"""Reports of a worker may come so long after it went: routers keep for ten minutes what they cannot report."""


class WorkerDrift:
    """Learns from counted ratios of measured to profiled time, worker by worker, how far a pool is from its profiles.

    The factor of a pool is the one with which its workers would together do as many batches as they do: the harmonic
    mean of their own factors. A worker that is slow alone, beside a noisy neighbour or hot, takes from its pool what it
    does less, and does not make the pool look as slow as itself, as the 95th percentile of all batches would.

    Factors of workers, and what is remembered for how long, are as `ProfileDrift` has them. In the mean a worker with n
    batches counts n / (n + `PRIOR_BATCHES`), and those that are gone, together, what the others lack of one worker.
    """

    def __init__(self) -> None:
        self._each = ProfileDrift(deadband=0.0)
        self._workers: dict[RunKey, set[str]] = {}
        self._settled: dict[RunKey, float] = {}
        self._gone_s: dict[str, float] = {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], now_s: float) -> "WorkerDrift":
        """Go on from a record as if it had been made now. Of earlier versions, which knew of pools alone, as well."""
        keys = []
        settled: dict[RunKey, float] = {}
        for each in record["keys"]:
            pool, variant, *worker = each["key"]
            if not worker:
                settled[pool, variant] = each["settled"]
            keys.append({**each, "key": [pool, variant, *(worker or [GONE])]})
        drift = cls()
        drift._each = ProfileDrift.from_record({"keys": keys}, now_s, deadband=0.0)
        drift._settled = settled | {(pool, variant): factor for pool, variant, factor in record.get("settled", ())}
        for pool, variant, name in (each["key"] for each in keys):
            drift._workers.setdefault((pool, variant), set()).add(name)
        return drift

    def on_counts(self, key: RunKey, worker: str, counts: Sequence[float], now_s: float) -> None:
        """So many batches of a worker fell into each bin. Raises ValueError where these are not all the bins."""
        name = GONE if worker in self._gone_s else worker
        self._each.on_counts((*key, name), counts, now_s)
        self._workers.setdefault(key, set()).add(name)

    def factor(self, key: RunKey, now_s: float) -> float:
        """How many times its profiled time a batch takes in the pool as a whole, 1 where nothing is known."""
        weights = {worker: self._weight(key, worker, now_s) for worker in self._workers.get(key, ())}
        if GONE in weights:
            present = sum(weight for worker, weight in weights.items() if worker != GONE)
            weights[GONE] *= max(1.0 - present, 0.0)
        known = sum(weights.values())
        together = 1.0
        if known > 0.0:
            together = known / sum(w / self._each.factor((*key, worker), now_s) for worker, w in weights.items())
        settled = self._settled.get(key, 1.0)
        if abs(together / settled - 1.0) < DEADBAND:
            return settled
        self._settled[key] = together
        return together

    def of_workers(self, key: RunKey, now_s: float) -> dict[str, float]:
        """By worker how many times its profiled time a batch takes there, where enough batches say so."""
        return {
            worker: self._each.factor((*key, worker), now_s)
            for worker in sorted(self._workers.get(key, ()))
            if worker != GONE and self._known_well(key, worker, now_s)
        }

    def of_worker(self, key: RunKey, worker: str, now_s: float) -> float:
        """The factor of one worker, and that of its pool where too little is known of it."""
        well = self._known_well(key, worker, now_s)
        return self._each.factor((*key, worker), now_s) if well else self.factor(key, now_s)

    def evidence(self, key: RunKey, now_s: float) -> float:
        """How many batches are known of the pool, in what they are worth now."""
        return sum(self._each.evidence((*key, worker), now_s) for worker in self._workers.get(key, ()))

    def on_worker(self, worker: str, came: bool, now_s: float) -> None:
        """A worker is there, or no more: what was learned of it is its pool's until others tell better."""
        if came:
            self._gone_s.pop(worker, None)
            return
        self._gone_s[worker] = now_s
        for key, workers in self._workers.items():
            if worker in workers:
                self._each.move((*key, worker), (*key, GONE), now_s)
                workers.discard(worker)
                workers.add(GONE)

    def keep(self, workers: Collection[str], now_s: float) -> None:
        """These are the workers that are there: all others are gone."""
        known = {worker for own in self._workers.values() for worker in own}
        for worker in known - {GONE, *workers}:
            self.on_worker(worker, False, now_s)

    def to_record(self, now_s: float) -> dict[str, Any]:
        """All that was learned, in JSON values."""
        self._gone_s = {worker: at_s for worker, at_s in self._gone_s.items() if now_s - at_s < LATE_S}
        for key, workers in self._workers.items():
            for worker in [each for each in workers if self._each.evidence((*key, each), now_s) < FORGOTTEN]:
                self._each.forget((*key, worker))
                workers.discard(worker)
        settled = [[*key, factor] for key, factor in self._settled.items()]
        return {**self._each.to_record(now_s), "settled": settled}

    def _known_well(self, key: RunKey, worker: str, now_s: float) -> bool:
        return self._each.evidence((*key, worker), now_s) >= ENOUGH

    def _weight(self, key: RunKey, worker: str, now_s: float) -> float:
        batches = self._each.evidence((*key, worker), now_s)
        return batches / (batches + PRIOR_BATCHES)
