"""ModelSwitching from response latencies that are simulated."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log

import numpy as np

from catalog.array_store import ArrayStore
from dispatch.selection.load_based.load_ladder import LoadLadder, adaptive_batch
from dispatch.selection.load_based.model_switching import NAME, model_switching, response_limits_qps
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.pareto import pareto_front
from simulator.response import ResponseProfiler

PROFILING_S = 10.0
PROFILING_SEED = 1_000_003
"""Arrivals that no benchmark plays."""

LOAD_RATIO = 1.02
"""Neighbouring loads differ by this factor: a load between two counts as the lower one, and halving finds it soon."""

LIGHT = 0.05
"""The lowest load is this share of what the slowest variant bears."""

ENOUGH_QUERIES = 20_000
"""A simulation ends before `PROFILING_S` when it has had so many queries."""

LEAST_OBJECTIVES, LEAST_QUERIES, MOST_QUERIES = 20, 1000, 100_000
"""But it lasts so many objectives and has so many queries, where that does not take too many: queues of slow variants
take their time to build up, and a percentile takes its number."""

FORMAT = 3
"""To be raised with any change that leads to other limits: limits kept under another are made anew."""

OnLoad = Callable[[int, int], None]
"""Called with the simulations that are done, and how many there may be."""


def switching_ladder(
    candidates: tuple[Candidate, ...], slo_s: float, workers: int, loads_qps: Sequence[float]
) -> LoadLadder:
    """ModelSwitching as in the paper: ascending loads are simulated for `PROFILING_S` each (RAMSIS, section 7)."""
    profiler = ResponseProfiler(candidates, slo_s, workers, duration_s=PROFILING_S, seed=PROFILING_SEED)
    return model_switching(candidates, slo_s, workers, loads_qps=loads_qps, response_p99_s=profiler.p99_s)


@dataclass(frozen=True)
class SwitchingMaker:
    """Makes ModelSwitching for a service that is about to start: finer steps of load, and no longer than it takes.

    Only variants on the Pareto front are considered. A load that all workers cannot bear in batches of up to half the
    objective is known to miss it without a simulation.
    """

    candidates: tuple[Candidate, ...]
    slo_s: float
    workers: int

    def make(self, store: ArrayStore | None = None, on_load: OnLoad | None = None) -> LoadLadder:
        """The ladder; what was simulated is kept in ``store``, and not simulated again."""
        kept = None if store is None else store.get(self._key)
        if kept is None:
            limits_qps = self._limits_qps(on_load)
            if store is not None:
                names = np.array(list(limits_qps), dtype=str)
                store.put(self._key, {"variants": names, "below_qps": np.array(list(limits_qps.values()))})
        else:
            limits_qps = dict(zip(kept["variants"].tolist(), kept["below_qps"].tolist(), strict=True))
        return LoadLadder.of(NAME, self.workers, self.candidates, self.slo_s, limits_qps)

    @property
    def _key(self) -> str:
        """A hash of all that the limits depend on."""
        return hashlib.sha256(f"{NAME} {FORMAT} {self!r}".encode()).hexdigest()

    def _limits_qps(self, on_load: OnLoad | None) -> dict[str, float]:
        front = tuple(c for c in pareto_front(self.candidates) if c.latency_s[1] < self.slo_s)
        if not front:
            return {}
        capacity_qps = {candidate.variant: self._capacity_qps(candidate) for candidate in front}
        steps_qps = geometric_qps(LIGHT * min(capacity_qps.values()), max(capacity_qps.values()))
        loads_qps = sorted({*steps_qps, *capacity_qps.values()})
        most = len(front) * len(loads_qps).bit_length()
        profiler = ResponseProfiler(front, self.slo_s, self.workers, duration_s=PROFILING_S, seed=PROFILING_SEED)
        done = 0

        def p99_s(alone: LoadLadder, load_qps: float) -> float:
            nonlocal done
            done += 1
            if on_load is not None:
                on_load(done, most)
            if load_qps >= capacity_qps[alone.rungs[0].variant]:
                return inf
            return replace(profiler, duration_s=self._profiling_s(load_qps)).p99_s(alone, load_qps)

        limits_qps = response_limits_qps(front, self.slo_s, self.workers, loads_qps=loads_qps, response_p99_s=p99_s)
        if on_load is not None:
            on_load(most, most)
        return limits_qps

    def _profiling_s(self, load_qps: float) -> float:
        least_s = max(LEAST_OBJECTIVES * self.slo_s, LEAST_QUERIES / load_qps)
        return max(min(PROFILING_S, ENOUGH_QUERIES / load_qps), min(least_s, MOST_QUERIES / load_qps))

    def _capacity_qps(self, candidate: Candidate) -> float:
        sizes = range(1, adaptive_batch(candidate, self.slo_s) + 1)
        return self.workers * max(rows / candidate.busy_s[rows] for rows in sizes)


def geometric_qps(lowest_qps: float, highest_qps: float) -> list[float]:
    """Loads from the lowest to the highest, neighbours at most `LOAD_RATIO` apart."""
    steps = max(ceil(log(highest_qps / lowest_qps) / log(LOAD_RATIO)), 1)
    return [lowest_qps * (highest_qps / lowest_qps) ** (step / steps) for step in range(steps + 1)]
