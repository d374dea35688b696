"""The forecast by the day before, where little more than a day is known."""

import numpy as np
import pytest

from forecast.models.seasonal_naive import SeasonalNaive
from forecast.series.series import DAY_S, LoadSeries
from forecast.series.windows import origins, targets
from forecast.training.scores import score
from forecast.training.task import ForecastTask

TASK = ForecastTask()
HOUR_S = 3600


def daily(hours: float) -> LoadSeries:
    """Between 5 queries/s at midnight and 95 at noon, from midnight on."""
    at_s = np.arange(int(hours * HOUR_S))
    rate = 50 + 45 * np.sin(2 * np.pi * (at_s - 6 * HOUR_S) / DAY_S)
    return LoadSeries.regular(np.random.default_rng(2).poisson(rate).astype(float))


@pytest.mark.parametrize("learned_h", [16, 21, 23.9, 24.2, 25, 29])
def test_quantiles_are_right_where_the_newest_fifth_is_of_times_of_day_not_seen_before(learned_h: float) -> None:
    series = daily(36)
    forecaster = SeasonalNaive(TASK)
    forecaster.fit(series.between(0, learned_h * HOUR_S))
    at = origins(series, TASK, max(int(learned_h * HOUR_S), DAY_S), TASK.block_s)
    forecast = forecaster.predict(series, at)
    assert score(forecast, targets(series, TASK, at)).coverage_90_pct > 80
    assert (forecast.point < forecast.at(0.99)).mean() > 0.95
    assert (forecast.point > forecast.at(0.01)).mean() > 0.95
