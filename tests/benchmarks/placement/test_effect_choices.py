from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import pytest

from autoscaler.placement.interference import NoInterference
from autoscaler.placement.machine import LatencySum
from benchmarks.placement.effect_choices import (
    all_splits,
    by_latency_sum,
    by_load,
    by_p95,
    machines,
    p95_of_all,
    split_of,
)
from predictor.configuration import Configuration

MACHINE = "type"
SECONDS = dict.fromkeys("abcd", 1.0)


@dataclass(frozen=True)
class Hostile:
    """Who is together in ``pairs`` takes three times as long, everybody else one and a half times."""

    pairs: tuple[tuple[str, str], ...]

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        return [
            (1.0,) if each.degree == 1 else ((3.0,) if each.variants in self.pairs else (1.5,)) * each.degree
            for each in configurations
        ]


def cost(variants: str, hostile: tuple[tuple[str, str], ...], rates: dict[str, float]) -> LatencySum:
    return LatencySum({(MACHINE, name): 0.01 for name in variants}, Hostile(hostile), rates)


def test_four_variants_have_three_placements_and_three_have_three() -> None:
    assert all_splits(("d", "a", "c", "b")) == [
        (("a", "b"), ("c", "d")),
        (("a", "c"), ("b", "d")),
        (("a", "d"), ("b", "c")),
    ]
    assert all_splits(("c", "a", "b")) == [(("a",), ("b", "c")), (("a", "b"), ("c",)), (("a", "c"), ("b",))]


def test_placements_that_exchange_two_equal_machines_are_the_same() -> None:
    mix = ("c", "a", "b")
    assert split_of(mix, ("0", "0", "1")) == split_of(mix, ("1", "1", "0")) == (("a", "c"), ("b",))


def test_the_predictor_keeps_apart_who_hurts_each_other() -> None:
    rates = dict.fromkeys("abcd", 10.0)
    known = cost("abcd", (("a", "b"), ("b", "d")), rates)
    assert by_latency_sum(tuple("abcd"), machines(MACHINE), known) == (("a", "d"), ("b", "c"))
    assert by_p95(tuple("abcd"), MACHINE, known, SECONDS) == (("a", "d"), ("b", "c"))


def test_the_p95_of_all_does_not_see_who_is_less_than_a_twentieth_of_the_queries() -> None:
    """a and b may hurt only each other or c: the sum sees a tenfold latency of a, the percentile does not."""
    alone_s = {(MACHINE, "a"): 1.0, (MACHINE, "b"): 0.01, (MACHINE, "c"): 0.02}
    known = LatencySum(alone_s, Hostile((("b", "c"),)), {"a": 1.0, "b": 500.0, "c": 500.0})
    assert by_p95(tuple("abc"), MACHINE, known, SECONDS) != (("a",), ("b", "c"))
    assert by_latency_sum(tuple("abc"), machines(MACHINE), known)[0] != ("b", "c")


def test_the_p95_of_equal_variants_is_theirs_and_of_others_between_them() -> None:
    assert p95_of_all([10.0, 90.0], [0.2, 0.2]) == pytest.approx(0.2)
    assert 0.1 < p95_of_all([10.0, 10.0], [0.1, 0.3]) < 0.3


def test_the_p95_of_all_is_that_of_exponential_latencies() -> None:
    rng = np.random.default_rng(0)
    p95_s, rates = [0.1, 0.4], [3.0, 1.0]
    drawn = np.concatenate(
        [rng.exponential(own / log(20.0), int(200_000 * rate)) for own, rate in zip(p95_s, rates, strict=True)]
    )
    assert p95_of_all(rates, p95_s) == pytest.approx(np.quantile(drawn, 0.95), rel=0.01)


def test_least_loaded_balances_what_it_knows_in_its_order() -> None:
    load = {"a": 1.0, "b": 2.0, "c": 3.0}
    two = machines(MACHINE)
    assert by_load(("a", "b", "c"), two, load, largest_first=False) == (("a", "c"), ("b",))
    assert by_load(("a", "b", "c"), two, load, largest_first=True) == (("a", "b"), ("c",))


def test_without_interference_no_split_is_worse_than_another() -> None:
    known = LatencySum({(MACHINE, name): 0.01 for name in "abc"}, NoInterference(), dict.fromkeys("abc", 1.0))
    assert by_p95(tuple("abc"), MACHINE, known, SECONDS) == all_splits(tuple("abc"))[0]


def test_in_units_of_their_own_latency_the_short_ones_count() -> None:
    """In seconds a is the whole tail, and b and c may as well be together; relative to their own, that hurts."""
    alone_s = {(MACHINE, "a"): 1.0, (MACHINE, "b"): 0.001, (MACHINE, "c"): 0.001}
    known = LatencySum(alone_s, Hostile((("b", "c"),)), dict.fromkeys("abc", 10.0))
    relative = {name: alone_s[MACHINE, name] for name in "abc"}
    assert by_p95(tuple("abc"), MACHINE, known, SECONDS) == (("a",), ("b", "c"))
    assert by_p95(tuple("abc"), MACHINE, known, relative) != (("a",), ("b", "c"))
