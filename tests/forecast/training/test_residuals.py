"""Quantiles from how far a point forecast was off, by the time of the hour where that tells."""

import numpy as np
import pytest
from numpy.typing import NDArray

from forecast.forecaster import LEVELS, Fitting
from forecast.registry import make
from forecast.series.series import LoadSeries
from forecast.training.residuals import at_clock, ratios, ratios_by_clock, spread
from forecast.training.task import ForecastTask

HOUR_S = 3600
EVERY_S = 10


def forecasts(hours: int, surging: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Truths around 100, three times that while it surges, and when each window begins."""
    begins_s = np.arange(0, hours * HOUR_S, EVERY_S)
    draw = np.random.default_rng(4)
    truth_qps = draw.normal(100.0, 5.0, len(begins_s))
    if surging is not None:
        truth_qps[surging] *= 3.0
    return truth_qps, begins_s


def test_what_comes_in_a_fifth_of_all_hours_at_the_same_place_is_in_the_upper_quantiles_there_alone() -> None:
    hours = 60
    begins_s = np.arange(0, hours * HOUR_S, EVERY_S)
    place = begins_s % HOUR_S
    surging = (place >= 1800) & (place < 1830) & (begins_s // HOUR_S % 5 == 0)
    truth_qps, begins_s = forecasts(hours, surging)
    by_clock = ratios_by_clock(truth_qps, np.full(len(truth_qps), 100.0), begins_s, EVERY_S)
    assert by_clock is not None
    assert by_clock.shape == (360, len(LEVELS))
    high, usual = spread(np.array([100.0, 100.0]), at_clock(by_clock, np.array([1810, 900]))).at(0.95)
    assert high == pytest.approx(300.0, rel=0.1)
    assert usual == pytest.approx(108.0, rel=0.05)
    median, _ = spread(np.array([100.0, 100.0]), at_clock(by_clock, np.array([1810, 900]))).at(0.5)
    assert median == pytest.approx(100.0, rel=0.05)


def test_without_any_pattern_the_clock_is_left_out() -> None:
    truth_qps, begins_s = forecasts(60)
    assert ratios_by_clock(truth_qps, np.full(len(truth_qps), 100.0), begins_s, EVERY_S) is None


@pytest.mark.parametrize("hours", [1, 20])
def test_a_few_hours_tell_nothing_of_the_clock(hours: int) -> None:
    truth_qps, begins_s = forecasts(hours, np.arange(hours * 360) % 360 < 3)
    assert ratios_by_clock(truth_qps, np.full(len(truth_qps), 100.0), begins_s, EVERY_S) is None


def test_parts_are_no_shorter_than_forecasts_are_apart() -> None:
    begins_s = np.arange(0, 400 * HOUR_S, 700)
    truth_qps = np.where(begins_s % HOUR_S < 720, 300.0, 100.0)
    by_clock = ratios_by_clock(truth_qps, np.full(len(truth_qps), 100.0), begins_s, 700)
    assert by_clock is not None
    assert by_clock.shape == (5, len(LEVELS))
    assert (at_clock(by_clock, np.array([300, 1800]))[:, -1] > [2.5, 0.9]).all()


def test_blocks_as_long_as_parts_of_a_third_of_the_hour_tell_nothing_of_the_clock() -> None:
    begins_s = np.arange(0, 400 * HOUR_S, 1200)
    truth_qps = np.where(begins_s % HOUR_S < 1200, 300.0, 100.0)
    assert ratios_by_clock(truth_qps, np.full(len(truth_qps), 100.0), begins_s, 1200) is None


def test_one_ratio_for_all_and_one_for_each_spread_alike() -> None:
    off = ratios(np.linspace(50.0, 150.0, 101), np.full(101, 100.0))
    together = spread(np.array([10.0, 20.0]), off)
    each = spread(np.array([10.0, 20.0]), np.stack([off, off]))
    np.testing.assert_array_equal(together.quantiles, each.quantiles)


def test_a_model_that_forecasts_one_number_foresees_what_comes_by_the_clock_also_after_it_was_saved() -> None:
    days = 12
    at_s = np.arange(0, days * 24 * HOUR_S, 10)
    surging = (at_s % HOUR_S >= 1200) & (at_s % HOUR_S < 1320) & (at_s // HOUR_S % 2 == 0)
    loads_qps = np.random.default_rng(2).poisson(np.where(surging, 120.0, 40.0)).astype(float)
    series = LoadSeries.regular(loads_qps, step_s=10)
    forecaster = make("linear", ForecastTask())
    forecaster.fit(series, Fitting())
    due = np.array([(240 * HOUR_S + 1190) // 10, (240 * HOUR_S + 600) // 10])
    before, calm = forecaster.predict(series, due).at(0.95)
    assert before > 90.0 > 60.0 > calm
    restored = make("linear", ForecastTask())
    restored.restore(*forecaster.state())
    np.testing.assert_array_equal(restored.predict(series, due).quantiles, forecaster.predict(series, due).quantiles)
    arrays, values = forecaster.state()
    older = make("linear", ForecastTask())
    older.restore({key: array for key, array in arrays.items() if key != "ratios_by_clock"}, values)
    assert older.predict(series, due).at(0.95)[0] < 90.0, "a file of before has one spread for all"
