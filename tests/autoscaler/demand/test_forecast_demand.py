"""The load to plan for, from what forecasters say and what is there."""

from typing import Any, ClassVar

import numpy as np
import pytest

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import MovingMaximum
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.recent_load import RecentLoad
from forecast.forecaster import LEVELS, Fitting, Forecast, State
from forecast.registry import make
from forecast.series.series import DAY_S, LoadSeries
from forecast.series.windows import Origins
from forecast.training.task import ForecastTask

TASK = ForecastTask(context_s=4, window_s=2, block_s=2)


class Spoken:
    """Says what it is told to, a hundred times the level above; remembers what it was shown."""

    name: ClassVar[str] = "spoken"
    task = TASK
    reach_s = least_s = 4

    def __init__(self, qps: float = 0.0) -> None:
        self.qps = qps
        self.shown: list[LoadSeries] = []

    def predict(self, series: LoadSeries, at: Origins) -> Forecast:
        self.shown.append(series.slice(0, int(at[0])))
        if self.qps < 0:
            raise RuntimeError("no idea")
        return Forecast(self.qps + 100 * LEVELS[None, :], np.array([self.qps]))

    def fit(self, series: LoadSeries, fitting: Fitting | None = None) -> None: ...

    def state(self) -> State:
        return {}, {}

    def restore(self, arrays: Any, values: Any) -> None: ...


def scene(level: float = 0.5, **forecasters: Spoken) -> ForecastDemand:
    demand = ForecastDemand(MovingMaximum(endpoints=("a", "b")), RecentLoad(60), level)
    demand.use(forecasters)
    return demand


def play(demand: ForecastDemand, seconds: int, start_s: int = 0, **qps: int) -> dict[str, float]:
    for second in range(start_s, start_s + seconds):
        demand.on_statistics(Statistics(second, second + 1.0, qps, {}))
    return demand.demand_qps()


def test_the_quantile_of_the_forecast_is_planned_for() -> None:
    demand = scene(0.9, a=Spoken(200.0))
    assert play(demand, 4, a=10) == {"a": pytest.approx(290.0), "b": 0.1}
    assert demand.forecast_qps == {"a": pytest.approx(290.0)}


def test_never_is_less_planned_for_than_the_load_that_is_there() -> None:
    demand = scene(0.5, a=Spoken(20.0))
    assert play(demand, 4, a=300)["a"] == 300
    assert play(demand, 10, 4, a=10)["a"] == pytest.approx(70.0)


def test_before_a_forecaster_sees_enough_the_load_that_is_there_counts() -> None:
    forecaster = Spoken(200.0)
    demand = scene(0.5, a=forecaster)
    assert play(demand, 3, a=10)["a"] == 10
    assert forecaster.shown == []
    assert play(demand, 1, 3, a=10)["a"] == pytest.approx(250.0)
    assert forecaster.shown[0].loads_qps.tolist() == [10] * 4


def test_a_forecaster_sees_all_that_is_kept_and_is_asked_once_a_second() -> None:
    forecaster = Spoken(1.0)
    demand = scene(0.5, a=forecaster)
    play(demand, 10, a=3)
    for _ in range(3):
        demand.demand_qps()
    demand.on_statistics(Statistics(10.0, 10.5, {"a": 1}, {}))
    demand.demand_qps()
    assert len(forecaster.shown) == 1
    demand.on_statistics(Statistics(10.5, 11.0, {"a": 1}, {}))
    demand.demand_qps()
    assert forecaster.shown[1].loads_qps.tolist() == [*[3] * 10, 2]


def test_a_forecaster_that_fails_is_left_out_and_the_others_go_on() -> None:
    failing, fine = Spoken(-1.0), Spoken(50.0)
    demand = scene(0.5, a=failing, b=fine)
    assert play(demand, 6, a=10, b=10) == {"a": 10, "b": pytest.approx(100.0)}
    assert demand.failed == {"a": "RuntimeError: no idea"}
    assert play(demand, 1, 6, a=10, b=10)["b"] == pytest.approx(100.0)
    assert len(failing.shown) == 1
    demand.use({"a": Spoken(500.0)})
    assert demand.failed == {}
    assert demand.demand_qps() == {"a": pytest.approx(550.0), "b": 10}


def test_a_forecast_that_is_no_load_is_left_out() -> None:
    demand = scene(0.5, a=Spoken(float("nan")))
    assert play(demand, 6, a=10)["a"] == 10
    assert demand.failed == {"a": "it forecast a load of nan"}


def test_another_level_counts_at_once() -> None:
    demand = scene(0.5, a=Spoken(100.0))
    assert play(demand, 4, a=10)["a"] == pytest.approx(150.0)
    demand.use({"a": Spoken(100.0)}, 0.99)
    assert demand.demand_qps()["a"] == pytest.approx(199.0)


def test_a_load_that_rises_every_minute_is_planned_for_before_it_does() -> None:
    """Ten seconds of 300 queries/s end every minute of 20."""
    minute = np.where(np.arange(60) < 50, 20, 300)
    task = ForecastTask(context_s=60, window_s=10, block_s=10)
    forecaster = make("linear", task)
    forecaster.fit(LoadSeries.regular(np.tile(minute, 120)))
    demand = ForecastDemand(MovingMaximum(), RecentLoad(120), 0.5)
    demand.use({"a": forecaster})
    planned = {}
    for second in range(180):
        demand.on_statistics(Statistics(second, second + 1.0, {"a": int(minute[second % 60])}, {}))
        planned[second] = demand.demand_qps()["a"]
    assert planned[169] == pytest.approx(300, rel=0.1), "the load is still 20"
    assert planned[140] < 100


def test_a_forecaster_sees_a_day_or_more_where_it_needs_more() -> None:
    forecaster = Spoken(1.0)
    recent = RecentLoad(2 * DAY_S)
    recent.add("a", LoadSeries.regular(np.full(2 * DAY_S, 3.0)))
    demand = ForecastDemand(MovingMaximum(endpoints=("a",)), recent, 0.5)
    for reach_s, shown_s in ((4, DAY_S), (DAY_S + 10, DAY_S + 10)):
        forecaster.reach_s = reach_s
        demand.use({"a": forecaster})
        demand.demand_qps()
        assert len(forecaster.shown[-1]) == shown_s


def test_the_seasonal_forecast_is_the_day_before_and_not_the_last_day_of_its_training() -> None:
    """It learned of a peak at noon; the day before now had one at six, which is what it would be judged by."""
    task = ForecastTask(context_s=120, window_s=120, block_s=10)
    forecaster = make("seasonal_naive", task)
    noon, six = (np.where(abs(np.arange(DAY_S) - hour * 3600) < 600, 300.0, 20.0) for hour in (12, 6))
    forecaster.fit(LoadSeries.regular(np.tile(noon, 2)))
    recent = RecentLoad(DAY_S, 2 * DAY_S)
    recent.add("a", LoadSeries.regular(six, start_s=2 * DAY_S))
    demand = ForecastDemand(MovingMaximum(endpoints=("a",)), recent, 0.5)
    demand.use({"a": forecaster})
    planned = {}
    for at_s in (6 * 3600, 12 * 3600):
        played = LoadSeries.regular(np.full(at_s, 20.0), start_s=3 * DAY_S)
        recent.add("a", played)
        demand.on_statistics(Statistics(DAY_S + at_s, DAY_S + at_s + 1.0, {"a": 20}, {}))
        planned[at_s] = demand.demand_qps()["a"]
    assert planned == {6 * 3600: pytest.approx(300.0, rel=0.1), 12 * 3600: pytest.approx(20.0, rel=0.1)}
    assert demand.failed == {}
