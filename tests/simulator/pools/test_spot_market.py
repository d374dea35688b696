"""Prices, bids and interruptions."""

from math import inf

import numpy as np
import pytest

from catalog.errors import ConfigError
from simulator.pools.spot_market import Lease, MachinePool, PriceSeries, cost_of

PRICES = PriceSeries(np.array([0.0, 3600.0, 7200.0]), np.array([1.0, 4.0, 2.0]))


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_price_holds_until_the_next() -> None:
    assert [PRICES.price_per_h(at_s) for at_s in (-5.0, 0.0, 3599.0, 3600.0, 1e6)] == [1.0, 1.0, 1.0, 4.0, 2.0]


def test_machines_are_paid_for_by_the_second() -> None:
    assert PRICES.cost(0.0, 1800.0) == pytest.approx(0.5)
    assert PRICES.cost(1800.0, 9000.0) == pytest.approx(0.5 + 4.0 + 1.0)
    assert PRICES.cost(100.0, 100.0) == 0.0


def test_leases_count_within_the_span_only() -> None:
    pools = {"vm": MachinePool("vm", PriceSeries.constant(3.6), 60.0)}
    leases = [Lease("a", "vm", 0.0, 60.0, 1000.0), Lease("b", "vm", 500.0, 560.0), Lease("c", "vm", 2000.0, 2060.0)]
    assert cost_of(leases, pools, 100.0, 1500.0) == pytest.approx((900.0 + 1000.0) / 1000.0)


def test_above_the_bid_none_is_to_be_had_and_those_there_are_taken_away() -> None:
    spot = MachinePool("vm", PRICES, 60.0, bid_per_h=3.0)
    assert [spot.offered_per_h(at_s) for at_s in (0.0, 3600.0, 7200.0)] == [1.0, inf, 2.0]
    assert spot.taken_away_s(100.0, rng()) == 3600.0
    assert spot.taken_away_s(7300.0, rng()) == inf


def test_spot_machines_are_lost_as_often_as_is_said() -> None:
    spot = MachinePool("vm", PriceSeries.constant(1.0), 60.0, bid_per_h=2.0, lost_per_h=0.5)
    source = rng()
    lives_s = [spot.taken_away_s(0.0, source) for _ in range(4000)]
    assert np.mean(lives_s) == pytest.approx(7200.0, rel=0.05)


def test_on_demand_machines_stay() -> None:
    pool = MachinePool("vm", PRICES, 60.0, lost_per_h=10.0)
    assert not pool.preemptible
    assert pool.taken_away_s(0.0, rng()) == inf
    assert pool.offered_per_h(3600.0) == 4.0


@pytest.mark.parametrize(
    ("at_s", "per_h"), [([], []), ([0.0], [1.0, 2.0]), ([1.0, 1.0], [1.0, 2.0]), ([0.0], [-1.0]), ([0.0], [inf])]
)
def test_prices_that_are_none_are_refused(at_s: list[float], per_h: list[float]) -> None:
    with pytest.raises(ConfigError):
        PriceSeries(np.array(at_s), np.array(per_h))
