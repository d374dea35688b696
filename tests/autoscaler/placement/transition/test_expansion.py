"""From numbers of workers to single ones, against the assignment problem with a row for every worker."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linear_sum_assignment

from autoscaler.placement.transition.expansion import expand
from autoscaler_scene import SEEDS, held

VARIANTS = ("a", "b", "c", "d")


def some_set(rng: np.random.Generator, least: int) -> frozenset[str]:
    return frozenset(rng.choice(VARIANTS, int(rng.integers(least, 3)), replace=False).tolist())


@settings(max_examples=150, derandomize=True)
@given(SEEDS)
def test_no_assignment_of_single_workers_loads_less(rng: np.random.Generator) -> None:
    workers = {f"w{number}": some_set(rng, 0) for number in range(rng.integers(1, 9))}
    targets = [some_set(rng, 1) for _ in range(rng.integers(0, len(workers) + 1))]
    price = {variant: float(rng.choice((1.0, 1e3, 1e9)) * rng.uniform(0.5, 2)) for variant in VARIANTS[:3]}
    given_to = expand({target: targets.count(target) for target in targets}, workers, price)
    assert sorted(map(sorted, given_to.values())) == sorted(map(sorted, targets))

    def cost(before: frozenset[str], after: frozenset[str]) -> float:
        return sum(price.get(variant, 1.0) for variant in after - before)

    table = np.array([[cost(before, after) for after in targets] for before in workers.values()])
    rows, columns = linear_sum_assignment(table) if targets else ((), ())
    least = sum(table[row, column] for row, column in zip(rows, columns, strict=True))
    spent = sum(cost(workers[worker], target) for worker, target in given_to.items())
    assert spent == pytest.approx(least, rel=1e-6, abs=1e-8 * max(price.values()))


def test_what_is_wanted_already_stays_where_it_is() -> None:
    workers = held(w1="a", w2="b", w3="b", w4="a b")
    wanted = {frozenset({"a"}): 1, frozenset({"b"}): 2, frozenset({"a", "b"}): 1}
    assert expand(wanted, workers, {}) == workers


def test_only_as_many_workers_are_named_as_are_wanted_and_those_that_hold_it_first() -> None:
    assert expand({frozenset({"b"}): 1}, held(w1="a", w2="b", w3=""), {}) == {"w2": {"b"}}


def test_the_dear_variant_is_the_one_that_is_not_loaded() -> None:
    # w1 holds both halves of what is wanted; the other worker loads the cheap set.
    wanted = {frozenset({"big", "small"}): 1, frozenset({"small"}): 1}
    workers = held(w1="big", w2="small")
    assert expand(wanted, workers, {"big": 9e9, "small": 1e6}) == {"w1": {"big", "small"}, "w2": {"small"}}


@pytest.mark.parametrize("load_cost", [{}, dict.fromkeys(VARIANTS, 0), {"a": 0, "b": 10**9, "c": 0}])
def test_variants_of_unknown_size_are_loaded_no_more_than_others(load_cost: dict[str, int]) -> None:
    wanted = {frozenset({"c"}): 1, frozenset({"a"}): 2}
    workers = held(w1="c", w2="a", w3="a")
    assert expand(wanted, workers, load_cost) == workers


def test_costs_that_differ_by_little_are_told_apart() -> None:
    wanted = {frozenset({"x"}): 1}
    workers = held(w1="p", w2="q")
    assert expand({frozenset({"p", "q"}): 1}, workers, {"p": 1_000_000_001, "q": 1_000_000_000}) == {"w1": {"p", "q"}}
    assert expand({frozenset({"p", "q"}): 1}, workers, {"p": 1_000_000_000, "q": 1_000_000_001}) == {"w2": {"p", "q"}}
    assert len(expand(wanted, workers, {"x": 0.0})) == 1


def test_nothing_wanted_names_nobody() -> None:
    assert expand({}, held(w1="a"), {}) == {}
    assert expand({frozenset({"a"}): 0}, held(w1="a"), {}) == {}
    assert expand({}, {}, {}) == {}


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="3 workers wanted, 2 are there"):
        expand({frozenset({"a"}): 2, frozenset({"b"}): 1}, held(w1="a", w2="b"), {})
