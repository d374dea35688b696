from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from catalog.errors import BadSeries, ConfigError
from forecast.forecaster import LEVELS, Fitting, Forecast, State
from forecast.registry import NAMES, make
from forecast.series.series import LoadSeries
from forecast.series.windows import Origins
from forecast.training.backtest import AT_ONCE, backtest
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=60, window_s=20, lead_s=5, block_s=10)
NETWORKS = ("deepar", "feed_forward", "lstm")


@dataclass
class Newest:
    """Forecasts the newest load plus what it was fitted to last; remembers what it was asked."""

    name: ClassVar[str] = "newest"
    task: ForecastTask = TASK
    reach_s: int = 1
    least_s: int = 1
    asked: list[Origins] = field(default_factory=list)
    fitted_until_s: list[int] = field(default_factory=list)

    def fit(self, series: LoadSeries, fitting: Fitting | None = None) -> None:
        self.fitted_until_s.append(series.end_s)

    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        self.asked.append(at)
        point = series.loads_qps[at - 1] + (self.fitted_until_s[-1] if self.fitted_until_s else 0)
        return Forecast(np.repeat(point[:, None], len(LEVELS), axis=1), point)

    def state(self) -> State:
        return {}, {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
        """Has nothing to learn."""


def waves(steps: int, seed: int = 0) -> NDArray[np.float64]:
    """A load with a slow and a fast part, and noise; at least 1."""
    at = np.arange(steps)
    smooth = 60 + 25 * np.sin(at / 700) + 10 * np.sin(at / 60)
    noisy: NDArray[np.float64] = smooth + np.random.default_rng(seed).normal(0, 4, steps)
    return np.maximum(noisy, 1.0)


def with_gap(loads_qps: NDArray[np.float64], first: int, last: int) -> LoadSeries:
    times_s = np.arange(len(loads_qps), dtype=np.int64)
    kept = (times_s < first) | (times_s >= last)
    return LoadSeries(times_s[kept], loads_qps[kept])


def test_each_forecast_stands_beside_what_came_in_its_window() -> None:
    loads_qps = waves(600)
    found = backtest(Newest(), LoadSeries.regular(loads_qps), 300, 10)
    assert found.at.tolist() == list(range(300, 576, 10))
    assert found.at_s.tolist() == found.at.tolist()
    for at, truth_qps, point in zip(found.at, found.truth_qps, found.forecast.point, strict=True):
        assert truth_qps == max(loads_qps[at + 5 : at + 25])
        assert point == loads_qps[at - 1]
    assert found.scores.origins == len(found.at)
    assert found.scores.rmse_qps == pytest.approx(np.sqrt(np.mean((found.truth_qps - found.forecast.point) ** 2)))


def test_no_origin_has_a_gap_before_the_end_of_its_window() -> None:
    series = with_gap(waves(600), 400, 430)
    found = backtest(Newest(), series, 370, 1)
    assert found.at_s.tolist() == [*range(370, 376), *range(431, 576)]


def test_forecasters_of_different_reach_can_be_tested_at_the_same_origins() -> None:
    series = LoadSeries.regular(waves(600))
    near, far = Newest(reach_s=1), Newest(reach_s=90)
    assert backtest(near, series, 0, 10).at.tolist()[:2] == [10, 20]
    assert backtest(far, series, 0, 10).at.tolist()[:2] == [90, 100]
    assert backtest(near, series, 0, 10, reach_s=90).at.tolist() == backtest(far, series, 0, 10).at.tolist()


def test_a_long_test_is_forecast_in_parts() -> None:
    forecaster = Newest()
    found = backtest(forecaster, LoadSeries.regular(waves(10_000)), 0, 1)
    assert len(forecaster.asked) == 3
    assert max(map(len, forecaster.asked)) == AT_ONCE
    assert np.concatenate(forecaster.asked).tolist() == found.at.tolist()


def test_where_nothing_can_be_tested_the_error_says_what_it_takes() -> None:
    with pytest.raises(BadSeries, match=r"nothing to forecast from day 0 00:09:50 on: .* 25 s in one piece after it"):
        backtest(Newest(), LoadSeries.regular(waves(600)), 590, 1)


def test_forecasts_a_part_of_a_step_apart_are_refused() -> None:
    series = LoadSeries.regular(waves(600), step_s=5)
    assert np.diff(backtest(Newest(reach_s=5), series, 0, 10).at_s).tolist()[0] == 10
    with pytest.raises(ConfigError, match="forecasts are to be 12 s apart, but the series has steps of 5 s; give a"):
        backtest(Newest(reach_s=5), series, 0, 12)


@pytest.fixture
def quick_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that have learned a little; what they look at is the same."""
    monkeypatch.setattr("forecast.training.network.MOST_EPOCHS", 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [lambda load: 10 * load + 500, np.zeros_like], ids=["surge", "silence"])
def test_what_comes_after_an_origin_changes_no_forecast_there_or_before(
    name: str, change: Callable[[NDArray[np.float64]], NDArray[np.float64]], quick_networks: None
) -> None:
    steps, instant = 12_000, 10_000
    loads_qps = waves(steps)
    forecaster = make(name, TASK)
    forecaster.fit(LoadSeries.regular(loads_qps[:9000]), Fitting())
    changed_qps = np.concatenate([loads_qps[:instant], change(loads_qps[instant:])])
    before, after = (backtest(forecaster, LoadSeries.regular(each), 9500, 10) for each in (loads_qps, changed_qps))
    known = before.at <= instant
    assert known.sum() == 51
    assert before.at.tolist() == after.at.tolist()
    assert np.array_equal(before.forecast.quantiles[known], after.forecast.quantiles[known])
    assert np.array_equal(before.forecast.point[known], after.forecast.point[known])
    ended = before.at + TASK.horizon_s <= instant
    assert np.array_equal(before.truth_qps[ended], after.truth_qps[ended])


@pytest.mark.parametrize("name", NAMES)
def test_a_forecast_is_the_same_where_the_future_is_not_there_at_all(name: str, quick_networks: None) -> None:
    loads_qps = waves(9600)
    forecaster = make(name, TASK)
    forecaster.fit(LoadSeries.regular(loads_qps[:9000]), Fitting())
    at = np.array([9300, 9400])
    whole = forecaster.predict(LoadSeries.regular(loads_qps), at)
    for row, each in enumerate(at):
        known = forecaster.predict(LoadSeries.regular(loads_qps[:each]), np.array([each]))
        np.testing.assert_allclose(known.quantiles[0], whole.quantiles[row], rtol=1e-4)
