"""How far the workers of a pool are from a profile, each for itself and all together."""

from collections.abc import Mapping, Sequence
from math import exp2, log2
from statistics import fmean
from typing import Any

from autoscaler.demand.profile_drift import DEADBAND, LEAST, MOST, PRIOR_BATCHES, ProfileDrift

RunKey = tuple[str, str]
"""Pool and variant."""

GONE = ""
"""Stands for all workers of a pool that are there no more; it counts where nothing is known of any that is."""

ENOUGH = 10.0
"""Batches, in what they are worth now, from which on a worker counts for itself: the 95th percentile of fewer is next
to their largest."""

FORGOTTEN = 0.01


class WorkerDrift:
    """Learns from counted ratios of measured to profiled time, worker by worker, how far a pool is from its profiles.

    The factor of a pool is the one with which its workers would together do as many batches as they do: the harmonic
    mean of their own factors. A worker that is slow alone, beside a noisy neighbour or hot, takes from its pool what it
    does less, and does not make the pool look as slow as itself, as the 95th percentile of all batches would. Factors
    of workers, and what is remembered for how long, are as `ProfileDrift` has them; that of the pool is shrunk towards
    1 by a prior of batches without drift, and follows the evidence in steps.
    """

    def __init__(self) -> None:
        self._each = ProfileDrift(prior=0.0, deadband=0.0)
        self._workers: dict[RunKey, set[str]] = {}
        self._settled: dict[RunKey, float] = {}

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
        drift._each = ProfileDrift.from_record({"keys": keys}, now_s, prior=0.0, deadband=0.0)
        drift._settled = settled | {(pool, variant): factor for pool, variant, factor in record.get("settled", ())}
        for pool, variant, name in (each["key"] for each in keys):
            drift._workers.setdefault((pool, variant), set()).add(name)
        return drift

    def on_counts(self, key: RunKey, worker: str, counts: Sequence[float], now_s: float) -> None:
        """So many batches of a worker fell into each bin. Raises ValueError where these are not all the bins."""
        self._each.on_counts((*key, worker), counts, now_s)
        self._workers.setdefault(key, set()).add(worker)

    def factor(self, key: RunKey, now_s: float) -> float:
        """How many times its profiled time a batch takes in the pool as a whole, 1 where nothing is known."""
        batches, settled = self.evidence(key, now_s), self._settled.get(key, 1.0)
        factors = list(self.of_workers(key, now_s).values())
        factors = factors or [self._factor(key, worker, now_s) for worker in self._known(key, now_s)]
        octaves = log2(fmean(1.0 / factor for factor in factors)) if factors else 0.0
        bounded = min(max(exp2(-octaves * batches / (batches + PRIOR_BATCHES)), LEAST), MOST)
        if abs(bounded / settled - 1.0) < DEADBAND:
            return settled
        self._settled[key] = bounded
        return bounded

    def of_workers(self, key: RunKey, now_s: float) -> dict[str, float]:
        """By worker how many times its profiled time a batch takes there, where enough batches say so."""
        return {
            worker: self._factor(key, worker, now_s)
            for worker in sorted(self._workers.get(key, ()))
            if worker != GONE and self._each.evidence((*key, worker), now_s) >= ENOUGH
        }

    def evidence(self, key: RunKey, now_s: float) -> float:
        """How many batches the factor of the pool rests on, in what they are worth now."""
        return sum(self._each.evidence((*key, worker), now_s) for worker in self._workers.get(key, ()))

    def on_gone(self, worker: str, now_s: float) -> None:
        """The worker is there no more: what was learned of it is its pool's where nobody else tells."""
        for key, workers in self._workers.items():
            if worker in workers:
                self._each.move((*key, worker), (*key, GONE), now_s)
                workers.discard(worker)
                workers.add(GONE)

    def to_record(self, now_s: float) -> dict[str, Any]:
        """All that was learned, in JSON values."""
        for key, workers in self._workers.items():
            for worker in [each for each in workers if self._each.evidence((*key, each), now_s) < FORGOTTEN]:
                self._each.forget((*key, worker))
                workers.discard(worker)
        settled = [[*key, factor] for key, factor in self._settled.items()]
        return {**self._each.to_record(now_s), "settled": settled}

    def _known(self, key: RunKey, now_s: float) -> list[str]:
        """Workers of which anything is known: those that are there, else those that were."""
        seen = [w for w in self._workers.get(key, ()) if self._each.evidence((*key, w), now_s) > 0]
        return [w for w in seen if w != GONE] or seen

    def _factor(self, key: RunKey, worker: str, now_s: float) -> float:
        return self._each.factor((*key, worker), now_s)
