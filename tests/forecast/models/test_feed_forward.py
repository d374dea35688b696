"""The feed-forward network on a short history."""

import warnings

import numpy as np

from forecast.models.feed_forward import BATCH, FeedForward
from forecast.series.series import LoadSeries
from forecast.training.task import ForecastTask


def test_a_history_of_fewer_examples_than_a_batch_is_learned_without_a_warning() -> None:
    task = ForecastTask()
    seconds = 100 * task.block_s
    assert seconds // task.block_s < BATCH
    series = LoadSeries.regular(np.random.default_rng(0).poisson(50, seconds).astype(float))
    forecaster = FeedForward(task)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecaster.fit(series)
    assert 30 < forecaster.predict(series, np.array([seconds])).at(0.5)[0] < 90
