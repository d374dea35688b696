"""Forecasts that go on as it was lately."""

import numpy as np
import pytest

from forecast.models.averages import Trend
from forecast.series.series import LoadSeries
from forecast.training.task import ForecastTask


def test_the_trend_of_one_block_is_its_mean() -> None:
    task = ForecastTask(context_s=60, block_s=60, statistic="mean")
    assert Trend(task).weights().tolist() == [1.0]
    forecaster = Trend(task)
    forecaster.fit(LoadSeries.regular(np.full(3600, 100.0)))
    assert forecaster.predict(LoadSeries.regular(np.full(60, 40.0)), np.array([60])).point == pytest.approx([40.0])


def test_the_trend_of_two_blocks_is_drawn_on_to_the_middle_of_the_window() -> None:
    weights = Trend(ForecastTask(context_s=20, block_s=10, window_s=10, lead_s=10)).weights()
    assert weights @ [20.0, 30.0] == pytest.approx(50.0)
