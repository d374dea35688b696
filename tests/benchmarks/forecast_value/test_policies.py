"""What policies plan for."""

import numpy as np

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.demand import MovingMaximum
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.recent_load import RecentLoad
from benchmarks.forecast_value.parts import LEAD_S
from benchmarks.forecast_value.play import demands_qps
from benchmarks.forecast_value.policies import TASK, Policy, forecasts_of, oracle, origins_s
from benchmarks.forecast_value.service import ENDPOINT, HORIZON_S, INTERVAL_S
from forecast.registry import make
from forecast_value_scene import BURST_AT_S, BURST_QPS, DAY_S, HOUR_S, bursts_every_other_hour, some_parts

SERIES = bursts_every_other_hour(2)
PARTS = some_parts(SERIES, DAY_S, DAY_S + 2 * HOUR_S)
BURSTY = PARTS[0]
FIRST_TOLD = int((LEAD_S + BURST_AT_S - HORIZON_S) // INTERVAL_S) + 1
"""The first decision whose horizon has a second of the burst."""


def test_the_oracle_plans_for_a_burst_as_soon_as_it_lies_within_the_horizon() -> None:
    demands = demands_qps(oracle(SERIES, PARTS), 0, BURSTY)
    assert len(demands) == len(origins_s(BURSTY))
    assert max(demands[:FIRST_TOLD]) < BURST_QPS
    assert demands[FIRST_TOLD] == BURST_QPS


def test_the_reactive_policy_plans_for_a_burst_that_is_there() -> None:
    demands = demands_qps(Policy("reactive"), 0, BURSTY)
    begins = int((LEAD_S + BURST_AT_S) // INTERVAL_S)
    assert max(demands[: begins + 1]) < BURST_QPS
    assert demands[begins + 1] == BURST_QPS


def test_seasonal_naive_foresees_a_burst_that_comes_every_day() -> None:
    forecasts = forecasts_of("seasonal_naive", SERIES, DAY_S, PARTS, seed=0)
    demands = demands_qps(Policy("seasonal_naive", 0.5, forecasts), 0, BURSTY)
    assert max(demands[: FIRST_TOLD - 1]) < BURST_QPS / 2
    assert demands[FIRST_TOLD] > 0.9 * BURST_QPS


def test_forecasts_made_beforehand_are_those_that_would_be_made_on_the_way() -> None:
    """The whole way: reports second by second, and the forecaster itself, which looks back as far as it does."""
    forecaster = make("linear", TASK)
    forecaster.fit(SERIES.between(0, DAY_S))
    recent = RecentLoad(forecaster.reach_s, BURSTY.begin_s)
    recent.add(ENDPOINT, SERIES.between(BURSTY.begin_s - forecaster.reach_s, BURSTY.begin_s))
    live = ForecastDemand(MovingMaximum(endpoints=(ENDPOINT,)), recent, 0.9)
    live.use({ENDPOINT: forecaster})
    made = []
    for second, count in enumerate(BURSTY.played[:400].tolist()):
        live.on_statistics(Statistics(second, second + 1, {ENDPOINT: count}, {}))
        if (second + 1) % INTERVAL_S == 0:
            made.append(live.demand_qps()[ENDPOINT])
    told = Policy("linear", 0.9, forecasts_of("linear", SERIES, DAY_S, PARTS, seed=0))
    np.testing.assert_allclose(made, demands_qps(told, 0, BURSTY)[1 : 1 + len(made)])
