"""Small decision problems, and a plain simulation of one worker that shares no code with solvers or simulator."""

import bisect
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.arrivals import ArrivalDistribution, NegativeBinomial, Poisson
from dispatch.selection.ramsis.problem import Batching, Formulation, WorkerProblem
from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable

LATE_SHARE = 0.01
Z99 = 2.3263478740408408
"""The 99th percentile of the standard normal distribution."""


def problem(
    load_qps: float = 100.0,
    workers: int = 1,
    formulation: Formulation = "per_query",
    batching: Batching = "maximal",
    lengths: int = 8,
    slack_steps: int = 40,
    group: int = 1,
    arrivals: ArrivalDistribution | None = None,
) -> WorkerProblem:
    """Three variants of 0.6, 0.8 and 0.9 accuracy under 100 ms; a worker keeps up with some 130 queries per second."""
    rows = np.arange(1, lengths + 1)
    latency_s = tuple(tuple((base + slope * rows) / 1e3) for base, slope in ((4.0, 6.0), (6.0, 14.0), (10.0, 40.0)))
    return WorkerProblem(
        ("fast", "middle", "slow"),
        (0.6, 0.8, 0.9),
        latency_s,
        0.1,
        workers,
        arrivals or Poisson(load_qps),
        formulation,
        batching,
        "round_robin",
        slack_steps,
        group,
    )


def random_problem(load_qps: float, workers: int = 1, group: int = 1, slack_steps: int = 100) -> WorkerProblem:
    """`problem` where its latency is the 99th percentile of lognormal run times, and the mean lies 20 to 40% below."""
    certain = problem(load_qps, workers, lengths=16, slack_steps=slack_steps, group=group)
    shares = (0.8, 0.7, 0.6)
    busy_s = tuple(
        tuple(share * s for s in of_variant) for share, of_variant in zip(shares, certain.latency_s, strict=True)
    )
    return replace(certain, busy_s=busy_s, late_share=LATE_SHARE)


def lognormal_of(mean_s: float, p99_s: float) -> tuple[float, float]:
    """Location and scale of the lognormal distribution with that mean and 99th percentile."""
    scale = Z99 - math.sqrt(Z99**2 - 2 * math.log(p99_s / mean_s))
    return math.log(mean_s) - scale**2 / 2, scale


def tiny(lengths: int = 3, slack_steps: int = 4, workers: int = 2) -> WorkerProblem:
    """Two variants and few states, so that every policy can be tried."""
    latency_s = ((0.020, 0.035, 0.050), (0.050, 0.070, 0.090))
    return WorkerProblem(
        ("fast", "slow"),
        (0.6, 0.9),
        tuple(row[:lengths] for row in latency_s),
        0.1,
        workers,
        Poisson(30.0 * workers),
        "per_decision",
        slack_steps=slack_steps,
    )


def arrival_times_s(arrivals: ArrivalDistribution, count: int, seed: int) -> NDArray[np.float64]:
    """About ``count`` arrivals, made from Poisson instants with bursts drawn by scipy-free inversion."""
    rng = np.random.default_rng(seed)
    if isinstance(arrivals, NegativeBinomial):
        base = 1.0 - 1.0 / arrivals.dispersion
        mean_burst = base / (1.0 - base) / np.log(arrivals.dispersion)
        bursts = rng.logseries(base, int(count / mean_burst))
        instants = np.cumsum(rng.exponential(mean_burst / arrivals.rate_qps, len(bursts)))
        return np.repeat(instants, bursts)
    return np.cumsum(rng.exponential(1.0 / arrivals.rate_qps, count))


@dataclass(frozen=True)
class Observed:
    """Accuracy of each query, 0 where late, and whether it was late; a batch is late as a whole, as tables count."""

    accuracy: NDArray[np.float64]
    late: NDArray[np.float64]

    def mean_and_error(self, values: NDArray[np.float64]) -> tuple[float, float]:
        """Mean and its standard error from 50 consecutive stretches, since neighbours are alike."""
        means = [float(part.mean()) for part in np.array_split(values, 50)]
        return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(len(means)))


def observe(table: DecisionTable, solved: WorkerProblem, count: int = 40_000, seed: int = 1) -> Observed:
    """Worker 0 of a round robin of groups under a table; where latency varies it is lognormal."""
    rng = np.random.default_rng(seed + 1)
    cycle = solved.workers * table.group
    times_s = arrival_times_s(solved.arrivals, count * solved.workers, seed)
    own = times_s[np.arange(len(times_s)) % cycle < table.group].tolist()
    every = times_s.tolist()
    accuracy, late = np.zeros(len(own)), np.zeros(len(own))
    first, now_s = 0, 0.0
    while first < len(own):
        now_s = max(now_s, own[first])
        while True:
            waiting = bisect.bisect_right(own, now_s) - first
            phase = bisect.bisect_right(every, now_s) % cycle / cycle
            slack_s = own[first] + solved.slo_s - now_s
            variant, rows = table.lookup(waiting, slack_s, phase)
            if variant != HOLD:
                break
            until_s = now_s + table.hold_s(waiting, slack_s, phase)
            assert until_s > now_s
            after = first + waiting
            now_s = min(until_s, own[after]) if after < len(own) else until_s
        run_s = solved.latency_s[variant][rows - 1]
        if solved.busy_s:
            run_s = rng.lognormal(*lognormal_of(solved.busy_s[variant][rows - 1], run_s))
        done_s = now_s + run_s
        in_time = done_s <= own[first] + solved.slo_s + 1e-9
        accuracy[first : first + rows] = solved.accuracies[variant] * in_time
        late[first : first + rows] = not in_time
        first, now_s = first + rows, done_s
    return Observed(accuracy, late)


def assert_bounds_hold_in(seen: Observed, table: DecisionTable, bias: float) -> None:
    """What a table expects is what was seen, within three standard errors and what its discretisation rounds away."""
    for expected, values in ((table.expected_accuracy, seen.accuracy), (table.expected_violation_rate, seen.late)):
        mean, error = seen.mean_and_error(values)
        assert abs(expected - mean) < 3 * error + bias
