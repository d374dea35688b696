"""How long a file has to be, the part held out included: said once, and enough."""

import re

import numpy as np
import pytest

from catalog.errors import BadSeries
from forecast.registry import NAMES, make
from forecast.series.series import LoadSeries
from forecast.training import network
from forecast.training.task import ForecastTask
from forecast.training.training import TrainingRequest, train

TASKS = (
    ForecastTask(),
    ForecastTask(context_s=600, window_s=7, lead_s=55, block_s=60),
    ForecastTask(context_s=60, window_s=200, memory_s=60),
)


def history(steps: int, step_s: int = 1) -> LoadSeries:
    return LoadSeries.regular(np.random.default_rng(0).poisson(50.0, steps).astype(float), step_s=step_s)


@pytest.fixture
def one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "MOST_EPOCHS", 1)


@pytest.mark.parametrize(
    ("task", "hold_out"), list(zip(TASKS, (0.2, 0.01, 0.0), strict=True)), ids=["usual", "blocks of a minute", "surges"]
)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_length_that_is_said_is_long_enough_and_a_step_less_is_not(
    one_epoch: None, name: str, task: ForecastTask, hold_out: float
) -> None:
    with pytest.raises(BadSeries) as refused:
        train(TrainingRequest(name, task, history(task.horizon_s + 1), hold_out))
    found = re.search(r"give at least (\d+) s in one piece", str(refused.value))
    assert found is not None
    least = int(found[1])
    with pytest.raises(BadSeries, match=f"has {least - 1} s observed.* give at least {least} s in one piece"):
        train(TrainingRequest(name, task, history(least - 1), hold_out))
    trained = train(TrainingRequest(name, task, history(least), hold_out))
    assert (trained.held_out is None) == (hold_out == 0)


@pytest.mark.parametrize("task", TASKS, ids=["usual", "blocks of a minute", "surges"])
@pytest.mark.parametrize("name", NAMES)
def test_no_forecaster_takes_a_step_less_than_it_says(name: str, task: ForecastTask) -> None:
    forecaster = make(name, task)
    with pytest.raises(BadSeries, match="give"):
        forecaster.fit(history(forecaster.least_s - 1))


def test_lengths_are_whole_steps() -> None:
    task = ForecastTask(context_s=600, window_s=300, block_s=60)
    with pytest.raises(BadSeries, match=r"has 1200 s observed.* give at least 3300 s in one piece, of which 660 s are"):
        train(TrainingRequest("linear", task, history(20, step_s=60)))
    assert train(TrainingRequest("linear", task, history(55, step_s=60))).held_out is not None
