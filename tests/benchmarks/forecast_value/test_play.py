"""Policies in the simulator, on one bursty and one calm hour."""

import pytest

from benchmarks.forecast_value.parts import LEAD_S, LENGTH_S
from benchmarks.forecast_value.play import demands_qps, play, worker_s
from benchmarks.forecast_value.policies import Policy, forecasts_of, oracle
from benchmarks.forecast_value.service import START_S
from forecast_value_scene import BURST_AT_S, BURST_QPS, DAY_S, HOUR_S, bursts_every_other_hour, some_parts

SERIES = bursts_every_other_hour(2)
PARTS = some_parts(SERIES, DAY_S, DAY_S + 2 * HOUR_S)
BURSTY, CALM = PARTS
MOST_WORKERS = 12
REACTIVE, ORACLE = Policy("reactive"), oracle(SERIES, PARTS)


def test_the_oracle_violates_nothing_and_the_reactive_policy_most_of_what_comes_while_workers_start() -> None:
    known = play(ORACLE, 0, BURSTY, 1.2, MOST_WORKERS, seed=1)
    followed = play(REACTIVE, 0, BURSTY, 1.2, MOST_WORKERS, seed=1)
    assert known.queries == followed.queries == BURSTY.played[LEAD_S:].sum()
    assert known.violations < 0.002 * known.queries
    late_s = followed.violated.nonzero()[0]
    assert late_s[10] >= BURST_AT_S + LEAD_S
    assert late_s[-10] <= BURST_AT_S + LEAD_S + START_S + 15
    assert 0.3 * START_S * BURST_QPS < followed.violations < 1.2 * START_S * BURST_QPS
    assert known.worker_s > followed.worker_s


def test_a_forecast_of_bursts_that_come_every_day_is_as_good_as_the_oracle() -> None:
    foreseen = Policy("seasonal_naive", 0.5, forecasts_of("seasonal_naive", SERIES, DAY_S, PARTS, seed=0))
    ours = play(foreseen, 0, BURSTY, 1.2, MOST_WORKERS, seed=1)
    known = play(ORACLE, 0, BURSTY, 1.2, MOST_WORKERS, seed=1)
    assert ours.violations <= known.violations + 0.002 * known.queries
    assert ours.worker_s == pytest.approx(known.worker_s, rel=0.1)


def test_a_calm_hour_needs_one_worker() -> None:
    outcome = play(REACTIVE, 1, CALM, 1.0, MOST_WORKERS, seed=1)
    assert (outcome.violations, outcome.worker_s) == (0, LENGTH_S)


@pytest.mark.parametrize("policy", [REACTIVE, ORACLE], ids=["reactive", "oracle"])
@pytest.mark.parametrize("headroom", [0.7, 2.6])
def test_worker_seconds_are_known_from_demands_alone(policy: Policy, headroom: float) -> None:
    played = play(policy, 0, BURSTY, headroom, 4, seed=1)
    assert worker_s(demands_qps(policy, 0, BURSTY), headroom, 4) == played.worker_s
