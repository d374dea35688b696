"""Latency that changes, by hand and by its moments."""

import numpy as np
import pytest

from dispatch.query import Batch
from latency_scene import PATH_S, SLOW, ProfiledRuns
from simulator.changing_latency import ChangingLatency, LatencyChange

RUN_S = SLOW.runs_s[2]


def batch(launched_s: float, worker: str = "w0") -> Batch:
    return Batch(1, worker, "digits", "slow", accuracy=0.97, jobs=(), rows=2, launched_s=launched_s)


def changing(*changes: LatencyChange, run_sigma: float = 0.0, path_sigma: float = 0.0) -> ChangingLatency:
    rng = np.random.default_rng(1)
    return ChangingLatency(ProfiledRuns(), changes, rng, run_sigma=run_sigma, path_sigma=path_sigma)


def test_the_last_change_that_has_come_holds_whatever_their_order() -> None:
    latency = changing(
        LatencyChange(20.0, run_factor=1.0, path_s=0.001), LatencyChange(10.0, run_factor=2.0, path_s=0.020)
    )
    assert latency.times_s("cpu", batch(9.99)) == pytest.approx((RUN_S, PATH_S))
    assert latency.times_s("cpu", batch(10.0)) == pytest.approx((2.0 * RUN_S, 0.020))
    assert latency.times_s("cpu", batch(20.0)) == pytest.approx((RUN_S, 0.001))


def test_a_change_of_one_worker_is_its_own() -> None:
    latency = changing(LatencyChange(10.0, run_factor=2.0, path_s=PATH_S, worker="w1"))
    assert latency.times_s("cpu", batch(11.0, "w0")) == pytest.approx((RUN_S, PATH_S))
    assert latency.times_s("cpu", batch(11.0, "w1")) == pytest.approx((2.0 * RUN_S, PATH_S))


def test_times_vary_by_lognormal_factors_of_mean_one() -> None:
    latency = changing(run_sigma=0.3, path_sigma=0.5)
    times_s = np.array([latency.times_s("cpu", batch(0.0)) for _ in range(100_000)])
    assert times_s.mean(axis=0) == pytest.approx((RUN_S, PATH_S), rel=0.01)
    assert np.log(times_s).std(axis=0) == pytest.approx((0.3, 0.5), rel=0.01)
    assert np.corrcoef(times_s.T)[0, 1] == pytest.approx(0.0, abs=0.01)
