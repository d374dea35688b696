"""Which models may serve, and how far they have to look ahead."""

from dataclasses import replace

import pytest
from controller_parts import pool, settings
from forecast_scene import DAY_S, NOW_S, forecast, trained, waves

from deployments.forecasting.choice import KEPT_S, choose, horizon_s, length, task_of, why_not
from deployments.state.start_ups import StartUps
from forecast.artifact import Model
from forecast.series.series import LoadSeries
from forecast.training.task import ForecastTask

WEEK_S = 7 * DAY_S


def model(until_s: int = NOW_S, task: ForecastTask | None = None) -> Model:
    return trained(waves(3600), task=task, trained_until_s=until_s)


def test_a_model_looks_as_far_ahead_as_the_slowest_pool_starts_and_a_plan_lasts() -> None:
    pools = {"cpu": pool(), "gpu": replace(pool(), start_up_s=42.0)}
    config, seen = settings(pools=pools, interval_s=5.0), StartUps()
    assert horizon_s(config, forecast(), seen) == 50
    assert horizon_s(settings(interval_s=10.0), forecast(), seen) == 20
    seen.restore({"cpu": [3.0, 70.0], "gpu": [1.0], "gone": [1e6]})
    assert horizon_s(config, forecast(), seen) == 80, "workers were seen to take longer than the config says"
    assert horizon_s(config, forecast(horizon_s=25), seen) == 30, "in whole blocks"


def test_what_is_forecast_is_the_highest_load_from_now_on() -> None:
    assert replace(task_of(20), memory_s=0) == ForecastTask(), "the task of IPA's predictor"
    assert (task_of(600).context_s, task_of(600).horizon_s) == (600, 600)


def test_of_the_models_that_may_serve_the_one_that_knows_the_newest_load_does() -> None:
    old, new = model(NOW_S - 2 * DAY_S), model(NOW_S - DAY_S)
    too_short = model(NOW_S, ForecastTask(window_s=10))
    assert choose([old, new, too_short], 20, WEEK_S, NOW_S).model is new
    choice = choose([too_short, model(NOW_S - 9 * DAY_S)], 20, WEEK_S, NOW_S)
    assert choice.model is None
    assert choice.why == "model linear looks 10 s ahead, and 20 s are needed", "the reason of the newest"


@pytest.mark.parametrize(
    ("task", "age_s", "words"),
    [
        (ForecastTask(window_s=10), 0, "looks 10 s ahead, and 20 s are needed"),
        (ForecastTask(statistic="mean"), 0, "forecasts the mean from 0 s ahead on"),
        (ForecastTask(lead_s=600), 0, "forecasts the max from 600 s ahead on"),
        (ForecastTask(context_s=KEPT_S + 600, block_s=600), 0, "looks 87000 s back, and 86400 s are at hand"),
        (ForecastTask(), 9 * DAY_S, "model linear is 9 days old, more than the 7 days of max_age_s"),
    ],
)
def test_a_model_that_does_not_fit_does_not_serve_and_says_why(task: ForecastTask, age_s: int, words: str) -> None:
    made = trained(waves(30 * 3600), "constant" if task.context_s > KEPT_S else "linear", task, NOW_S - age_s)
    assert words in str(why_not(made, 20, WEEK_S, NOW_S))


def test_a_model_of_another_step_does_not_serve() -> None:
    by_minute = LoadSeries.regular(waves(36_000).loads_qps[::10], step_s=10)
    reason = why_not(trained(by_minute, trained_until_s=NOW_S), 20, WEEK_S, NOW_S)
    assert reason == "model linear was trained on steps of 10 s, and load is counted in steps of 1 s"


def test_a_longer_horizon_and_any_age_within_the_limit_are_fine() -> None:
    assert why_not(model(NOW_S - WEEK_S, task_of(60)), 20, WEEK_S, NOW_S) is None


@pytest.mark.parametrize(("seconds", "words"), [(30, "30 s"), (7300, "2.03 h"), (9 * DAY_S, "9 days")])
def test_lengths_are_told_as_people_do(seconds: float, words: str) -> None:
    assert length(seconds) == words
