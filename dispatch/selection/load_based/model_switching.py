"""ModelSwitching, the arrival-unaware baseline that looks at response latency (RAMSIS, section 7)."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from dispatch.selection.load_based.load_ladder import LoadLadder, Rung, adaptive_batch
from dispatch.selection.policy import Candidate

NAME = "model_switching"

ResponseP99 = Callable[[LoadLadder, float], float]
"""The 99th percentile of response latency, in seconds, under a selection policy and a load in queries per second."""


def model_switching(
    candidates: tuple[Candidate, ...],
    slo_s: float,
    workers: int,
    loads_qps: Sequence[float],
    response_p99_s: ResponseP99,
) -> LoadLadder:
    """The most accurate variant whose p99 of response latency under the load is below the objective.

    See `response_limits_qps` for the arguments.
    """
    below_qps = response_limits_qps(candidates, slo_s, workers, loads_qps, response_p99_s)
    return LoadLadder.of(NAME, workers, candidates, slo_s, below_qps)


def response_limits_qps(
    candidates: tuple[Candidate, ...],
    slo_s: float,
    workers: int,
    loads_qps: Sequence[float],
    response_p99_s: ResponseP99,
) -> dict[str, float]:
    """By variant the load from which on it does not meet the objective; without those that meet it under no load.

    ``response_p99_s`` is asked about loads of ``loads_qps``, ascending; it should not fall with the load. A load in
    between takes the figures of the nearest one below it, one beyond either end those of the end.
    Workers take batches of up to half the objective from a central queue.
    """
    below_qps = {}
    for candidate in candidates:
        alone = LoadLadder(NAME, workers, slo_s, (Rung.of(candidate, inf, adaptive_batch(candidate, slo_s)),))
        met = bisect_left(loads_qps, True, key=partial(_misses, response_p99_s, slo_s, alone))
        if met:
            below_qps[candidate.variant] = loads_qps[met] if met < len(loads_qps) else inf
    return below_qps


def _misses(response_p99_s: ResponseP99, slo_s: float, alone: LoadLadder, load_qps: float) -> bool:
    return response_p99_s(alone, load_qps) >= slo_s
