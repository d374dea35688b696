"""Sampled times have the moments of the profile."""

from math import exp, log

import numpy as np
import pytest

from catalog.profiles.profile import BatchLatency, LatencyProfile
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.query import Batch
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.latency import SampledLatency, lognormal, planned_latency

PROFILE = LatencyProfile("cpu", {1: BatchLatency(9, 20.0, 6.0, 19.0, 25.0, 30.0, 40.0)})


def drawn_s(count: int, seed: int, rows: int = 1) -> list[float]:
    model = SampledLatency({"cpu": {"only": PROFILE}}, 0.002, np.random.default_rng(seed))
    batch = Batch(1, "w1", "digits", "only", accuracy=0.9, jobs=(), rows=rows, launched_s=0.0)
    return [sum(model.times_s("cpu", batch)) for _ in range(count)]


def test_sampled_times_have_the_mean_and_deviation_of_the_profile() -> None:
    samples_s = np.array(drawn_s(200_000, seed=11)) - 0.002
    assert samples_s.mean() == pytest.approx(0.020, rel=0.005)
    assert samples_s.std() == pytest.approx(0.006, rel=0.02)
    assert samples_s.min() > 0


def test_sampled_times_are_lognormal() -> None:
    samples_s = np.array(drawn_s(200_000, seed=12)) - 0.002
    assert np.median(samples_s) == pytest.approx(exp(log(0.020) - log(1 + 0.3**2) / 2), rel=0.005)


def test_a_batch_that_was_not_measured_follows_the_line() -> None:
    assert np.mean(drawn_s(100_000, seed=13, rows=3)) == pytest.approx(0.062, rel=0.01)


def test_the_same_seed_draws_the_same_times() -> None:
    assert drawn_s(10_000, seed=14) == drawn_s(10_000, seed=14)


def test_times_of_candidates_that_vary_have_their_mean_and_percentile_and_the_way_as_it_is() -> None:
    candidate = Candidate("only", 0.9, (0.0, 0.032), (0.0, 0.022), 0.002)
    endpoint = EndpointPlan.of_stage(
        "digits", StagePlan({"cpu": (candidate,)}, GreedySelection(), None), slo_s=0.1, max_queued_rows=9
    )
    model = planned_latency(endpoint, 5)
    batch = Batch(1, "w1", "digits", "only", accuracy=0.9, jobs=(), rows=1, launched_s=0.0)
    runs_s, ways_s = zip(*(model.times_s("cpu", batch) for _ in range(100_000)), strict=True)
    assert set(ways_s) == {0.002}
    assert np.mean(runs_s) == pytest.approx(0.020, rel=0.01)
    assert np.percentile(runs_s, 95) == pytest.approx(0.030, rel=0.01)


def test_times_of_candidates_that_do_not_vary_are_theirs() -> None:
    candidate = Candidate("only", 0.9, (0.0, 0.032), (), 0.002)
    endpoint = EndpointPlan.of_stage(
        "digits", StagePlan({"cpu": (candidate,)}, GreedySelection(), None), slo_s=0.1, max_queued_rows=9
    )
    batch = Batch(1, "w1", "digits", "only", accuracy=0.9, jobs=(), rows=1, launched_s=0.0)
    assert planned_latency(endpoint, 5).times_s("cpu", batch) == pytest.approx((0.030, 0.002))


def test_lognormal_ways_have_the_given_mean_and_percentile() -> None:
    mu, sigma = lognormal(0.003, 0.007)
    drawn = np.random.default_rng(0).lognormal(mu, sigma, 400_000)
    assert drawn.mean() == pytest.approx(0.003, rel=0.02)
    assert np.percentile(drawn, 95) == pytest.approx(0.007, rel=0.02)
    assert lognormal(0.003, 0.003)[1] == 0.0
