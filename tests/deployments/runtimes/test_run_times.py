"""Drawn run times against the moments and quantiles of the profile that they follow."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.profiles.profile import BatchLatency, LatencyProfile
from deployments.runtimes.run_times import LEVELS, RECORDED, Distribution, RunTimes, quantile_curve

DRAWS = 40_000
PROFILE = LatencyProfile(
    "cpu", {1: BatchLatency(99, 10, 2, 9.8, 12.5, 13.6, 16.0), 8: BatchLatency(99, 42, 6, 41, 50, 54, 60)}
)


def draws_ms(distribution: Distribution, rows: int = 1, profile: LatencyProfile = PROFILE, seed: int = 0) -> Any:
    run_times = RunTimes(profile, distribution, np.random.default_rng(seed))
    return np.array([run_times.draw_s(rows) for _ in range(DRAWS)]) * 1e3


def test_fixed_is_the_mean_of_the_profile_at_every_size() -> None:
    for rows in (1, 4, 8, 20):
        np.testing.assert_allclose(draws_ms("fixed", rows), PROFILE.latency_ms(rows, "mean_ms"))


@pytest.mark.parametrize("distribution", ["normal", "lognormal"])
@pytest.mark.parametrize(("rows", "mean_ms", "std_ms"), [(1, 10, 2), (8, 42, 6)])
def test_mean_and_deviation_are_those_of_the_profile(
    distribution: Distribution, rows: int, mean_ms: float, std_ms: float
) -> None:
    drawn_ms = draws_ms(distribution, rows)
    assert drawn_ms.mean() == pytest.approx(mean_ms, abs=5 * std_ms / math.sqrt(DRAWS))
    assert drawn_ms.std() == pytest.approx(std_ms, rel=0.03)


def test_quantiles_of_a_lognormal_are_those_of_its_closed_form() -> None:
    sigma = math.sqrt(math.log(1 + 0.2**2))
    p95_ms = 10 / math.sqrt(1 + 0.2**2) * math.exp(1.6448536 * sigma)
    assert np.percentile(draws_ms("lognormal"), 95) == pytest.approx(p95_ms, rel=0.01)


def test_a_normal_draw_below_zero_counts_as_zero() -> None:
    wide = LatencyProfile("cpu", {1: BatchLatency(99, 10, 10, 10, 23, 26, 33)})
    drawn_ms = draws_ms("normal", profile=wide)
    assert drawn_ms.min() == 0
    below = 0.5 * math.erfc(1 / math.sqrt(2))
    density = math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert drawn_ms.mean() == pytest.approx(10 * (1 - below) + 10 * density, rel=0.01)  # E max(0, X)


@pytest.mark.parametrize("rows", [1, 8])
def test_recorded_quantiles_and_the_mean_come_back(rows: int) -> None:
    recorded, drawn_ms = PROFILE.by_batch[rows], draws_ms("quantiles", rows)
    found = np.quantile(drawn_ms, RECORDED)
    expected = [recorded.p50_ms, recorded.p90_ms, recorded.p95_ms, recorded.p99_ms]
    np.testing.assert_allclose(found, expected, rtol=0.02)
    assert drawn_ms.mean() == pytest.approx(recorded.mean_ms, rel=0.01)


def test_outliers_that_raise_the_mean_make_the_slowest_runs_slower() -> None:
    rare = LatencyProfile("cpu", {1: BatchLatency(99, 5.0, 30, 2.0, 2.1, 2.2, 2.4)})
    curve_ms = quantile_curve(rare, 1)
    assert curve_ms[0] == pytest.approx(2.0)
    assert np.trapezoid(curve_ms, LEVELS) == pytest.approx(5.0)
    assert curve_ms[-1] > 500


@given(st.lists(st.floats(0.01, 1e3), min_size=10, max_size=10), st.integers(1, 80))
def test_the_curve_never_falls_and_has_the_mean_wherever_the_quantiles_allow_it(values: list[float], rows: int) -> None:
    sizes = {
        size: BatchLatency(9, mean_ms, 1.0, *sorted(quantiles))
        for size, (mean_ms, *quantiles) in ((1, values[:5]), (16, values[5:]))
    }
    profile = LatencyProfile("cpu", sizes)
    curve_ms = quantile_curve(profile, rows)
    assert (np.diff(curve_ms) >= -1e-9).all()
    assert curve_ms[0] >= 0
    mean_ms, least_ms = profile.latency_ms(rows, "mean_ms"), np.trapezoid([0, *curve_ms[1:]], LEVELS)
    assert np.trapezoid(curve_ms, LEVELS) == pytest.approx(max(mean_ms, least_ms), rel=1e-6)


def test_a_seed_gives_the_same_times_again_and_another_others() -> None:
    first, again, other = (draws_ms("quantiles", seed=seed)[:50].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_less_than_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="batch size 0"):
        RunTimes(PROFILE, "fixed", np.random.default_rng(0)).draw_s(0)
