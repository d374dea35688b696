import numpy as np
import pytest

from catalog.errors import ConfigError
from forecast.series.series import LoadSeries
from forecast.series.windows import origins, targets
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=20, window_s=5, lead_s=10, block_s=5)


def test_what_was_to_be_forecast_is_the_statistic_of_just_that_window() -> None:
    loads = np.random.default_rng(1).integers(0, 100, 200).astype(float)
    series, at = LoadSeries.regular(loads), np.array([20, 77, 185])
    for statistic in ("max", "mean"):
        task = ForecastTask(context_s=20, window_s=5, lead_s=10, block_s=5, statistic=statistic)
        expected = [getattr(np, statistic)(loads[origin + 10 : origin + 15]) for origin in at]
        np.testing.assert_allclose(targets(series, task, at), expected)


def test_origins_have_their_history_before_and_their_truth_in_one_piece_after() -> None:
    there = np.ones(200, dtype=bool)
    there[100:130] = False
    full = LoadSeries.regular(np.arange(200.0))
    series = LoadSeries(full.times_s[there], full.loads_qps[there])
    at = origins(series, TASK, 20, 1)
    assert at[0] == 20
    assert at[-1] == len(series) - 15
    for origin in at.tolist():
        ahead = series.times_s[origin - 1 : origin + 15]
        assert ahead[-1] - ahead[0] == 15
    assert set(range(86, 101)) & set(at.tolist()) == set(), "those would reach across the gap"
    assert 101 in at, "the context may"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"context_s": 0}, "context_s of a forecast is 0"),
        ({"lead_s": -1}, "lead_s of a forecast is -1"),
        ({"context_s": 25}, "context_s 25 is not a multiple of block_s 10"),
        ({"statistic": "median"}, "statistic of a forecast is 'median'; known are"),
        ({"point": "mode"}, "point of a forecast is 'mode'; known are"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(fields, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ForecastTask(**fields)


def test_lengths_must_be_multiples_of_the_step() -> None:
    with pytest.raises(ConfigError, match="window_s of the forecast is 20 s, but the series has steps of 60 s"):
        origins(LoadSeries.regular(np.zeros(500), step_s=60), ForecastTask(context_s=600, block_s=60), 600, 60)
