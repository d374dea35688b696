"""What the LSTM's means are counted in."""

from collections.abc import Iterator

import numpy as np
import pytest

from forecast.forecaster import Fitting
from forecast.models.lstm import LSTM
from forecast.series.series import LoadSeries
from forecast.series.windows import origins, targets
from forecast.training import network
from forecast.training.task import ForecastTask

TASK = ForecastTask(window_s=60, point="mean")


@pytest.fixture(scope="module", autouse=True)
def few_epochs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "LEAST_EPOCHS", 1)
        patch.setattr(network, "MOST_EPOCHS", 2)
        yield


@pytest.fixture(scope="module")
def jobs() -> LoadSeries:
    """Five seconds of some 400 queries/s every two minutes, and nothing else."""
    loads = np.zeros(3600)
    for begin in range(0, len(loads), 120):
        loads[begin : begin + 5] = np.random.default_rng(begin).poisson(400, 5)
    return LoadSeries.regular(loads)


@pytest.fixture(scope="module")
def fitted(jobs: LoadSeries) -> LSTM:
    return fitted_to(jobs)


def fitted_to(series: LoadSeries) -> LSTM:
    forecaster = LSTM(TASK)
    forecaster.fit(series, Fitting(seed=0))
    return forecaster


def test_the_mean_of_a_load_that_is_mostly_idle_is_counted_in_the_mean_target(jobs: LoadSeries, fitted: LSTM) -> None:
    at = origins(jobs, TASK, fitted.reach_s, TASK.block_s)
    truth_qps = targets(jobs, TASK, at)
    assert fitted.state()[1]["unit_qps"] == pytest.approx(truth_qps.mean(), rel=0.1)
    assert fitted.points(jobs, at).mean() == pytest.approx(truth_qps.mean(), rel=0.25)


def test_the_unit_is_one_query_per_second_at_least() -> None:
    assert fitted_to(LoadSeries.regular(np.zeros(3600))).state()[1]["unit_qps"] == 1.0


def test_a_model_that_was_saved_without_its_unit_counts_in_the_usual_load(jobs: LoadSeries, fitted: LSTM) -> None:
    arrays, values = fitted.state()
    at = origins(jobs, TASK, fitted.reach_s, TASK.block_s)
    restored = LSTM(TASK)
    restored.restore(arrays, values)
    np.testing.assert_array_equal(restored.points(jobs, at), fitted.points(jobs, at))
    restored.restore(arrays, {"level": values["level"]})
    usual_over_unit = np.exp(values["level"]) / values["unit_qps"]
    np.testing.assert_allclose(restored.points(jobs, at), fitted.points(jobs, at) * usual_over_unit, rtol=1e-5)
