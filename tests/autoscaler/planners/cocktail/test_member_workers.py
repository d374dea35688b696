"""What a member keeps of its workers on several device types."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from autoscaler.planners.cocktail import member_workers
from autoscaler.planners.cocktail.member_workers import Market, kept
from autoscaler_scene import SEEDS

DEVICES = ("a", "b", "c")


def market(prices: tuple[float, ...], qps: tuple[float, ...], keep: float = 0.8) -> Market:
    return Market(
        prices_per_h=dict(zip(DEVICES, prices, strict=True)),
        growth=dict.fromkeys(DEVICES, 100),
        capacities_qps={(device, "m"): each for device, each in zip(DEVICES, qps, strict=True)},
        keep=keep,
    )


@pytest.mark.parametrize("each", [7, 8, 100])
def test_with_any_number_of_workers_a_member_gives_back_what_it_does_not_need(each: int) -> None:
    own = [device for device in DEVICES for _ in range(each)]
    alike = market((1.0, 1.2, 1.4), (10.0, 10.0, 10.0))
    assert kept("m", 1.0, own, alike) == (1, 0, 0)
    assert kept("m", 10.0 * each, own, alike) == (each, 0, 0)
    assert kept("m", 10.0 * each + 1, own, alike) == (each, 1, 0)
    assert kept("m", 1e6, own, alike) == (each, each, each)


def test_of_many_workers_the_last_is_of_the_kind_that_is_cheapest_for_the_rest() -> None:
    own = [device for device in DEVICES for _ in range(20)]
    assert kept("m", 101.0, own, market((8.0, 1.5, 1.0), (100.0, 10.0, 1.0))) == (1, 0, 1)


@settings(max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEEDS)
def test_one_device_type_at_a_time_is_about_as_cheap_as_all_ways_together(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    prices = tuple(float(each) for each in rng.integers(1, 9, 3))
    qps = tuple(float(each) for each in rng.integers(1, 9, 3))
    own = [device for device in DEVICES for _ in range(rng.integers(1, 6))]
    of = market(prices, qps)
    load_qps = float(rng.integers(1, 60))

    def spent(counts: tuple[int, ...]) -> float:
        borne_qps = sum(count * each for count, each in zip(counts, qps, strict=True))
        bought = member_workers.procure(max(load_qps - borne_qps, 0.0), of.offers("m", of.growth))
        return sum(count * 0.8 * price for count, price in zip(counts, prices, strict=True)) + bought.cost_per_h

    monkeypatch.setattr(member_workers, "MOST_WAYS", 10_000)
    best = spent(kept("m", load_qps, own, of))
    monkeypatch.setattr(member_workers, "MOST_WAYS", 0)
    found = spent(kept("m", load_qps, own, of))
    assert best <= found <= best + max(prices)
