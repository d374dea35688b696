"""Greedy procurement, by hand and against every way to buy."""

from itertools import product
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.planners.cocktail.procurement import Offer, procure

SMALL, LARGE = Offer("small", 1.0, 10.0), Offer("large", 2.5, 40.0)


def test_a_small_load_is_borne_by_the_cheapest_worker_that_bears_it_alone() -> None:
    assert procure(10.0, [SMALL, LARGE]).workers == (("small", 1),)
    assert procure(11.0, [SMALL, LARGE]).workers == (("small", 2),)
    assert procure(25.0, [SMALL, LARGE]).workers == (("large", 1),)


def test_what_is_left_of_a_large_load_goes_to_a_smaller_worker() -> None:
    bought = procure(85.0, [SMALL, LARGE])
    assert bought.workers == (("large", 2), ("small", 1))
    assert bought.cost_per_h == 6.0
    assert bought.missing_qps == 0.0


def test_a_gpu_is_taken_once_the_load_fills_it() -> None:
    cpu, gpu = Offer("cpu", 0.154, 56.0), Offer("gpu", 0.9, 640.0)
    assert procure(50.0, [cpu, gpu]).workers == (("cpu", 1),)
    assert procure(640.0, [cpu, gpu]).workers == (("gpu", 1),)


def test_of_offers_without_a_price_the_one_that_takes_the_fewest_workers_is_taken_in_any_order() -> None:
    free = [Offer("cpu", 0.0, 5.0, most=4), Offer("gpu", 0.0, 200.0, most=1)]
    for offers in (free, free[::-1]):
        assert procure(20.0, offers).workers == (("gpu", 1),)
        assert dict(procure(220.0, offers).workers) == {"gpu": 1, "cpu": 4}


def test_no_more_are_taken_than_there_are() -> None:
    bought = procure(100.0, [Offer("small", 1.0, 10.0, most=3), Offer("large", 20.0, 40.0, most=1)])
    assert dict(bought.workers) == {"small": 3, "large": 1}
    assert bought.missing_qps == pytest.approx(30.0)


def test_nothing_is_bought_for_no_load_or_from_nobody() -> None:
    assert procure(0.0, [SMALL]).workers == ()
    assert procure(5.0, []) == procure(5.0, [Offer("none", 1.0, 10.0, most=0)])
    assert procure(5.0, []).missing_qps == 5.0


@given(
    st.floats(0.1, 60.0),
    st.lists(st.tuples(st.floats(0.1, 5.0), st.floats(5.0, 40.0)), min_size=1, max_size=3),
)
def test_the_load_is_borne_at_no_more_than_a_worker_above_the_least_cost(
    load_qps: float, figures: list[tuple[float, float]]
) -> None:
    offers = [Offer(str(number), price, qps) for number, (price, qps) in enumerate(figures)]
    bought = procure(load_qps, offers)
    assert bought.missing_qps == 0.0
    counts = [range(int(load_qps // offer.qps) + 2) for offer in offers]
    least = min(
        (
            sum(count * offer.price_per_h for count, offer in zip(each, offers, strict=True))
            for each in product(*counts)
            if sum(count * offer.qps for count, offer in zip(each, offers, strict=True)) >= load_qps - 1e-6
        ),
        default=inf,
    )
    dearest = max(offer.price_per_h for offer in offers)
    assert least - 1e-9 <= bought.cost_per_h <= least + dearest + 1e-9


def test_any_load_needs_a_worker() -> None:
    assert procure(1e-7, [Offer("small", 1.0, 1000.0)]).workers == (("small", 1),)
