"""What is asked of every forecaster, by name."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from catalog.errors import AccordError, BadSeries, ConfigError, NotFitted
from forecast.artifact import Model, ModelCard, load
from forecast.forecaster import LEVELS, Fitting, Forecaster
from forecast.registry import NAMES, make
from forecast.series.series import LoadSeries
from forecast.series.windows import origins, targets
from forecast.training import network
from forecast.training.scores import score
from forecast.training.task import ForecastTask

NETWORKS = ("deepar", "lstm", "feed_forward")
DAY_S = 86_400
TASK = ForecastTask()
MINUTES = ForecastTask(
    context_s=1200, window_s=60, lead_s=540, block_s=60, memory_s=7200, statistic="mean", point="mean"
)


def sine(days: float = 0.5, period_s: float = 1800.0, seed: int = 1) -> LoadSeries:
    """A load that swings between 20 and 80 queries/s."""
    at_s = np.arange(int(days * DAY_S))
    rate = 50 + 30 * np.sin(2 * np.pi * at_s / period_s)
    return LoadSeries.regular(np.random.default_rng(seed).poisson(rate).astype(float))


@pytest.fixture
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is learned at once, or need not be."""
    monkeypatch.setattr(network, "LEAST_EPOCHS", 2)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Forecaster]:
    """Every forecaster, fitted to the same swing."""
    forecasters = {name: make(name, TASK) for name in NAMES}
    for forecaster in forecasters.values():
        forecaster.fit(sine(), Fitting(seed=3))
    return forecasters


def held_out(forecaster: Forecaster) -> tuple[LoadSeries, NDArray[np.int64]]:
    series = sine(0.1, seed=2)
    return series, origins(series, TASK, forecaster.reach_s, 10)


@pytest.mark.parametrize("name", NAMES)
def test_quantiles_do_not_cross_and_are_loads(fitted: dict[str, Forecaster], name: str) -> None:
    series, at = held_out(fitted[name])
    forecast = fitted[name].predict(series, at)
    assert forecast.quantiles.shape == (len(at), len(LEVELS))
    assert forecast.point.shape == (len(at),)
    assert (np.diff(forecast.quantiles, axis=1) >= 0).all()
    assert np.isfinite(forecast.quantiles).all()
    assert (forecast.quantiles >= 0).all()
    assert (forecast.point >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_forecasts_as_the_one_that_was_saved(fitted: dict[str, Forecaster], name: str, tmp_path) -> None:
    card = ModelCard(name, TASK, 1, 0, DAY_S // 2, 5.0, {"rmse_qps": 1.0}, {"seed": 3})
    Model(fitted[name], card).save(tmp_path / "folder" / "model.safetensors")
    loaded = load(tmp_path / "folder" / "model.safetensors")
    assert loaded.card == card
    series, at = held_out(fitted[name])
    np.testing.assert_array_equal(
        loaded.forecaster.predict(series, at).quantiles, fitted[name].predict(series, at).quantiles
    )
    assert loaded.forecaster.reach_s == fitted[name].reach_s


@pytest.mark.parametrize("name", NAMES)
def test_one_forecast_from_just_enough_history_is_the_same_as_among_many(
    fitted: dict[str, Forecaster], name: str
) -> None:
    forecaster = fitted[name]
    series, at = held_out(forecaster)
    many = forecaster.predict(series, at)
    for place in (0, len(at) // 2, len(at) - 1):
        known = series.slice(int(at[place]) - forecaster.reach_s, int(at[place]))
        if name == "seasonal_naive":  # goes by what it remembers, with no more than that
            continue
        one = forecaster.predict(known, np.array([len(known)]))
        np.testing.assert_allclose(one.quantiles[0], many.quantiles[place], rtol=1e-4)
        np.testing.assert_allclose(one.point[0], many.point[place], rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "seasonal_naive"])
def test_a_day_of_history_is_forecast_from_as_from_just_enough(fitted: dict[str, Forecaster], name: str) -> None:
    forecaster = fitted[name]
    day = sine(1.2, seed=4).slice(0, DAY_S + 3001)
    recent = day.slice(len(day) - forecaster.reach_s, len(day))
    of_day, of_recent = (forecaster.predict(known, np.array([len(known)])) for known in (day, recent))
    np.testing.assert_allclose(of_day.quantiles, of_recent.quantiles, rtol=1e-4)
    np.testing.assert_allclose(of_day.point, of_recent.point, rtol=1e-4)


def test_the_seasonal_forecast_goes_by_the_day_before_from_just_a_day_of_history() -> None:
    forecaster = make("seasonal_naive", TASK)
    forecaster.fit(sine())
    day = sine(1.0, period_s=1234.0, seed=4)
    at = np.array([len(day)])
    first = day.loads_qps[: TASK.window_s]
    expected = first.max() if TASK.statistic == "max" else first.mean()
    assert forecaster.predict(day, at).point[0] == expected
    shorter = day.slice(1, len(day))
    assert forecaster.predict(shorter, at - 1).point[0] == forecaster.day_qps[0], "of its training"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["deepar", "lstm", "feed_forward", "linear"])
def test_a_swing_is_learned(fitted: dict[str, Forecaster], name: str) -> None:
    series, at = held_out(fitted[name])
    truth = targets(series, TASK, at)
    learned = score(fitted[name].predict(series, at), truth)
    constant = score(fitted["constant"].predict(series, at), truth)
    assert learned.rmse_qps < 0.35 * constant.rmse_qps
    assert 80 < learned.coverage_90_pct < 98


@pytest.mark.parametrize("name", ["deepar", "lstm"])
def test_a_step_at_the_same_minute_of_every_hour_is_seen_before_it_comes(name: str) -> None:
    at_s = np.arange(DAY_S)
    rate = np.where((at_s % 3600 >= 1800) & (at_s % 3600 < 2400), 120.0, 30.0)
    series = LoadSeries.regular(np.random.default_rng(5).poisson(rate).astype(float))
    forecaster = make(name, TASK)
    forecaster.fit(series.between(0, 20 * 3600), Fitting(seed=1))
    before = np.array([22 * 3600 + 1795, 23 * 3600 + 1795])
    calm = np.array([22 * 3600 + 1000, 23 * 3600 + 1000])
    assert (forecaster.predict(series, before).at(0.9) > 90).all()
    assert (forecaster.predict(series, calm).at(0.9) < 60).all()


def test_deepar_knows_that_a_surge_is_due_by_how_long_ago_the_last_one_was() -> None:
    draw = np.random.default_rng(7)
    begins_s = np.cumsum(draw.integers(58, 62, 200) * 60)  # about an hour apart, at any time of the hour
    at_s = np.arange(3 * DAY_S)
    since_s = at_s - np.concatenate(([-(10**6)], begins_s))[np.searchsorted(begins_s, at_s, side="right")]
    series = LoadSeries.regular(draw.poisson(np.where(since_s < 300, 150.0, 30.0)).astype(float))
    task = ForecastTask(context_s=600, window_s=120, block_s=60, memory_s=7200)
    forecaster = make("deepar", task)
    forecaster.fit(series.between(0, 2 * DAY_S), Fitting(seed=1))
    due = begins_s[(begins_s > 2.2 * DAY_S) & (begins_s < 2.9 * DAY_S)]
    soon = forecaster.predict(series, due - 30).at(0.9)
    later = forecaster.predict(series, due - 1500).at(0.9)
    assert np.median(soon) > 120
    assert np.median(later) < 70


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_load_is_forecast_as_such(few_epochs: None, name: str) -> None:
    series = LoadSeries.regular(np.full(3 * 3600, 40.0))
    forecaster = make(name, TASK)
    forecaster.fit(series)
    forecast = forecaster.predict(series, np.array([3000, 5000]))
    np.testing.assert_allclose(forecast.point, 40.0, rtol=0.05)
    assert (forecast.at(0.95) < 50).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_load_at_all_is_forecast_as_none(few_epochs: None, name: str) -> None:
    series = LoadSeries.regular(np.zeros(3 * 3600))
    forecaster = make(name, TASK)
    forecaster.fit(series)
    assert forecaster.predict(series, np.array([3000])).at(0.95)[0] < 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_history_too_short_is_refused_with_what_is_needed(name: str) -> None:
    with pytest.raises(BadSeries, match=r"150 s observed.*(give|takes)"):
        make(name, TASK).fit(LoadSeries.regular(np.full(150, 10.0)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "deepar"])
def test_a_window_too_long_for_the_history_is_refused_with_what_is_needed(name: str) -> None:
    series = LoadSeries.regular(np.full(7200, 10.0))
    with pytest.raises(BadSeries, match=r"7200 s observed.* makes 0 examples of 20 needed; give at least \d+ s"):
        make(name, ForecastTask(window_s=3600)).fit(series)


@pytest.mark.parametrize("name", ["constant", "linear", "logistic", "seasonal_naive", "trend"])
@pytest.mark.parametrize(
    "task",
    [
        ForecastTask(window_s=3600),
        ForecastTask(window_s=600, lead_s=55, block_s=60, statistic="mean"),
        ForecastTask(window_s=7),
    ],
    ids=["an hour", "ten minutes", "seconds"],
)
def test_the_length_that_is_said_to_be_needed_is_enough(name: str, task: ForecastTask) -> None:
    forecaster = make(name, task)
    with pytest.raises(BadSeries) as refused:
        forecaster.fit(sine().slice(0, task.context_s + task.horizon_s + 20 * task.block_s))
    found = re.search(r"give at least (\d+) s", str(refused.value))
    assert found is not None
    series = sine().slice(0, int(found[1]))
    forecaster.fit(series)
    forecast = forecaster.predict(series, np.array([len(series)]))
    assert np.isfinite(forecast.quantiles).all()
    assert forecaster.least_s == int(found[1])


@pytest.mark.parametrize("name", NAMES)
def test_a_forecaster_that_learned_nothing_says_so(name: str) -> None:
    forecaster = make(name, TASK)
    with pytest.raises(NotFitted, match=f"{name} was not fitted"):
        forecaster.predict(sine(0.05), np.array([3000]))
    with pytest.raises(NotFitted, match=f"{name} was not fitted"):
        forecaster.state()


@pytest.mark.parametrize("name", NAMES)
def test_too_little_history_before_an_origin_is_refused(fitted: dict[str, Forecaster], name: str) -> None:
    with pytest.raises(BadSeries, match="100 s of history are known"):
        fitted[name].predict(sine(0.05), np.array([100]))
    with pytest.raises(BadSeries, match="lies beyond"):
        fitted[name].predict(sine(0.05), np.array([10**6]))


@pytest.mark.parametrize("name", NAMES)
def test_gaps_are_no_load_of_zero(few_epochs: None, name: str) -> None:
    series = sine(0.25)
    there = np.ones(len(series), dtype=bool)
    there[5000:9000] = False
    forecaster = make(name, TASK)
    forecaster.fit(LoadSeries(series.times_s[there], series.loads_qps[there]))
    at = np.array([15000])
    assert forecaster.predict(LoadSeries(series.times_s[there], series.loads_qps[there]), at).at(0.01)[0] > 5


@pytest.mark.parametrize("name", ["deepar", "lstm", "feed_forward"])
def test_the_same_seed_gives_the_same_model(few_epochs: None, name: str) -> None:
    quantiles = []
    for seed in (3, 3, 4):
        forecaster = make(name, TASK)
        forecaster.fit(sine(0.1), Fitting(seed=seed))
        quantiles.append(forecaster.predict(sine(0.1, seed=2), np.array([4000])).quantiles)
    np.testing.assert_array_equal(quantiles[0], quantiles[1])
    assert (quantiles[0] != quantiles[2]).any()


@pytest.mark.parametrize("name", NAMES)
def test_ten_minutes_ahead_in_steps_of_a_minute(few_epochs: None, name: str) -> None:
    minutes = sine(0.6, period_s=14400.0).loads_qps.reshape(-1, 60).mean(axis=1)
    series = LoadSeries.regular(minutes, step_s=60)
    forecaster = make(name, MINUTES)
    forecaster.fit(series)
    at = origins(series, MINUTES, forecaster.reach_s, 60)
    assert score(forecaster.predict(series, at), targets(series, MINUTES, at)).smape_pct < 80


def test_an_unknown_forecaster_is_refused_with_those_known() -> None:
    with pytest.raises(ConfigError, match=r"'prophet' is not known; known are constant, deepar"):
        make("prophet", TASK)


def test_an_artifact_that_is_none_is_refused(tmp_path) -> None:
    file = tmp_path / "model.safetensors"
    for content in (b"", b"no such thing", b"\x80\x04pickle"):
        file.write_bytes(content)
        with pytest.raises(AccordError, match="train one with"):
            load(file)


def test_a_day_need_not_be_a_multiple_of_the_step() -> None:
    series = LoadSeries.regular(sine(2.0).loads_qps[::7], step_s=7)
    task = ForecastTask(context_s=70, window_s=14, block_s=14)
    forecaster = make("seasonal_naive", task)
    forecaster.fit(series)
    last_of_the_day = np.array([86_400 // 7 - 2, 86_400 // 7 - 1, 86_400 // 7])
    assert np.isfinite(forecaster.predict(series, last_of_the_day).point).all()
