"""Profiled response latency, against the M/D/1 queue."""

from math import exp, factorial, floor, inf

import pytest
from scipy.optimize import brentq

from dispatch.selection.load_based.load_ladder import LoadLadder, Rung
from dispatch.selection.policy import Candidate
from simulator.response import ResponseProfiler

SERVICE_S = 0.010
ONE_BY_ONE = Candidate("only", 0.9, (0.0, SERVICE_S, SERVICE_S))


def waits_at_most(time_s: float, load_qps: float) -> float:
    """Distribution of the wait in an M/D/1 queue (Erlang)."""
    terms = (
        (load_qps * (k * SERVICE_S - time_s)) ** k / factorial(k) * exp(-load_qps * (k * SERVICE_S - time_s))
        for k in range(floor(time_s / SERVICE_S) + 1)
    )
    return (1.0 - load_qps * SERVICE_S) * sum(terms)


def ladder(max_rows: int) -> LoadLadder:
    return LoadLadder("alone", 1, 0.1, (Rung.of(ONE_BY_ONE, inf, max_rows),))


def test_the_p99_is_that_of_an_m_d_1_queue() -> None:
    profiler = ResponseProfiler((ONE_BY_ONE,), slo_s=0.1, workers=1, duration_s=1000.0, seed=3)
    wait_s = brentq(lambda time_s: waits_at_most(time_s, 60.0) - 0.99, 0.0, 0.2)
    assert profiler.p99_s(ladder(max_rows=1), 60.0) == pytest.approx(wait_s + SERVICE_S, rel=0.05)


def test_larger_batches_and_more_workers_shorten_the_wait() -> None:
    one = ResponseProfiler((ONE_BY_ONE,), slo_s=0.1, workers=1, duration_s=100.0, seed=3)
    two = ResponseProfiler((ONE_BY_ONE,), slo_s=0.1, workers=2, duration_s=100.0, seed=3)
    alone_s = one.p99_s(ladder(max_rows=1), 90.0)
    assert one.p99_s(ladder(max_rows=2), 90.0) < alone_s
    assert two.p99_s(ladder(max_rows=1), 90.0) < alone_s


def test_without_arrivals_there_is_no_latency() -> None:
    assert ResponseProfiler((ONE_BY_ONE,), 0.1, 1, 1e-6, 3).p99_s(ladder(1), 1.0) == 0.0


def test_latencies_that_vary_are_drawn_and_not_always_what_nearly_all_batches_take() -> None:
    varies = Candidate("only", 0.9, (0.0, 0.020), mean_s=(0.0, SERVICE_S))
    alone = LoadLadder("alone", 1, 0.1, (Rung.of(varies, inf, 1),))
    profiler = ResponseProfiler((varies,), slo_s=0.1, workers=1, duration_s=1000.0, seed=3)
    steady = ResponseProfiler((ONE_BY_ONE,), slo_s=0.1, workers=1, duration_s=1000.0, seed=3)
    load_qps = 45.0
    always = ResponseProfiler((Candidate("only", 0.9, (0.0, 0.020)),), 0.1, 1, 1000.0, 3)
    assert steady.p99_s(ladder(1), load_qps) < profiler.p99_s(alone, load_qps) < 0.8 * always.p99_s(ladder(1), load_qps)
    assert profiler.p99_s(alone, load_qps) == profiler.p99_s(alone, load_qps), "of one seed"
