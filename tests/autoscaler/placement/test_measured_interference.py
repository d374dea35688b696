"""Predictions of slowdowns, and what live batches correct them to."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.demand.profile_drift import BIN_COUNT, BINS_PER_OCTAVE, bin_of
from autoscaler.placement.measured_interference import (
    HALF_LIFE_S,
    LEAST,
    MOST,
    PRIOR_BATCHES,
    Corrections,
    MeasuredInterference,
    MeasuredSlowdowns,
    shifted,
)
from autoscaler.placement.standing import Standing
from predictor.configuration import Configuration

BIN = 2 ** (1 / BINS_PER_OCTAVE)
"""What two ratios in one bin differ by at most."""

STANDING = Standing("pool", "n1", "m", "v", (frozenset({"w"}),), predicted=1.5, reckoned=1.5)


class Even:
    """1.5 for everyone who has neighbours."""

    def slowdowns(self, configurations: Sequence[Configuration]) -> Sequence[tuple[float, ...]]:
        return [(1.0 if each.degree == 1 else 1.5,) * each.degree for each in configurations]


def counts(ratio: float, batches: int = 10_000) -> list[int]:
    made = [0] * BIN_COUNT
    made[bin_of(ratio)] = batches
    return made


def learned(ratio: float, standing: Standing = STANDING, batches: int = 10_000, drift: float = 1.0) -> Corrections:
    measured = MeasuredSlowdowns()
    measured.on_counts(standing, counts(ratio, batches), drift, 0.0)
    return measured.corrections(0.0)


def slowdowns(corrections: Corrections, *variants: str, machine: str = "m") -> tuple[float, ...]:
    return MeasuredInterference(Even(), corrections).slowdowns([Configuration(machine, variants)])[0]


def test_without_measurements_slowdowns_are_as_predicted() -> None:
    assert slowdowns(Corrections(), "v", "w") == (1.5, 1.5)
    assert slowdowns(Corrections(), "v") == (1.0,)


def test_what_is_slower_than_predicted_is_reckoned_to_be_so() -> None:
    found = slowdowns(learned(1.6), "w", "v")
    assert found[0] == 1.5, "nothing was measured of it"
    assert found[1] == pytest.approx(1.5 * 1.6, rel=BIN - 1)


def test_a_few_batches_change_little() -> None:
    (_, few), (_, many) = (slowdowns(learned(2.0, batches=n), "w", "v") for n in (5, 500))
    assert few < 1.5 * 1.2 < 1.5 * 1.7 < many


def test_nothing_is_faster_beside_others_and_corrections_have_bounds() -> None:
    assert slowdowns(learned(0.2), "v", "w")[0] == 1.0
    assert learned(0.126).factor("m", "v", ("w",)) == pytest.approx(LEAST, rel=0.02)
    assert learned(7.9).factor("m", "v", ("w",)) == pytest.approx(MOST, rel=0.02)


def test_other_places_of_the_machine_type_are_corrected_by_what_is_known_of_the_variant() -> None:
    measured = MeasuredSlowdowns()
    slow, fast = STANDING, replace(STANDING, neighbours=(frozenset({"x"}),))
    measured.on_counts(slow, counts(1.6, 9_000), 1.0, 0.0)
    measured.on_counts(fast, counts(1.0, 9_000), 1.0, 0.0)
    corrections = measured.corrections(0.0)
    assert corrections.factor("m", "v", ("w",)) == pytest.approx(1.6, rel=BIN - 1)
    assert corrections.factor("m", "v", ("x",)) == pytest.approx(1.0, abs=BIN - 1)
    assert corrections.factor("m", "v", ("y", "y")) > 1.4, "as in the worse of the places that were measured"
    assert corrections.factor("m", "other", ("w",)) == 1.0
    assert corrections.factor("elsewhere", "v", ("w",)) == 1.0


def test_where_a_neighbour_runs_several_variants_no_place_is_learned() -> None:
    corrections = learned(1.6, replace(STANDING, neighbours=(frozenset({"w", "x"}),)))
    assert corrections.of_place == {}
    assert corrections.factor("m", "v", ("w",)) > 1.4


def test_batches_are_compared_with_the_prediction_whatever_correction_and_drift_were_reckoned_with() -> None:
    """A batch of 3 times its profile: a drift of 1.25 alone, 1.5 predicted, and so 1.6 by what was not foreseen."""
    for reckoned in (1.5, 2.4, 3.0):
        found = learned(3.0 / reckoned, replace(STANDING, reckoned=reckoned), drift=1.25)
        assert found.factor("m", "v", ("w",)) == pytest.approx(1.6, rel=2 * (BIN - 1))


def test_what_was_predicted_is_not_corrected_again_once_it_is_reckoned_with() -> None:
    """Batches take 2.4 times their profile for good; plan after plan reckons with what was learned from the last."""
    measured, standing, now_s = MeasuredSlowdowns(), STANDING, 0.0
    for _ in range(40):
        now_s += 10.0
        measured.on_counts(standing, counts(2.4 / standing.reckoned, 300), 1.0, now_s)
        reckoned = slowdowns(measured.corrections(now_s), "v", "w")[0]
        standing = replace(standing, reckoned=reckoned)
    assert standing.reckoned == pytest.approx(2.4, rel=2 * (BIN - 1))


def test_what_was_learned_is_forgotten_slowly_and_survives_a_restart() -> None:
    measured = MeasuredSlowdowns()
    measured.on_counts(STANDING, counts(2.0, 400), 1.0, 0.0)
    again = MeasuredSlowdowns.from_record(json.loads(json.dumps(measured.to_record(0.0))), 1000.0)
    assert again.corrections(1000.0) == measured.corrections(0.0)
    factors = [again.corrections(1000.0 + n * HALF_LIFE_S).factor("m", "v", ("w",)) for n in (0, 3, 20)]
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == pytest.approx(1.0, abs=0.1)


def test_places_where_nothing_stands_any_more_are_forgotten() -> None:
    measured = MeasuredSlowdowns()
    measured.on_counts(STANDING, counts(2.0, 400), 1.0, 0.0)
    assert measured.corrections(30 * HALF_LIFE_S) == Corrections()
    assert measured.to_record(30 * HALF_LIFE_S) == {"keys": []}
    assert measured.known(30 * HALF_LIFE_S) == []


def test_people_see_what_corrections_rest_on() -> None:
    measured = MeasuredSlowdowns()
    measured.on_counts(STANDING, counts(1.6, 5_000), 1.0, 0.0)
    general, place = measured.known(0.0)
    assert (general.machine, general.variant, general.beside) == ("m", "v", ())
    assert (place.beside, place.batches) == (("w",), 5_000)
    assert place.factor == measured.corrections(0.0).factor("m", "v", ("w",))


def test_a_correction_at_the_prior_is_worth_half() -> None:
    corrections = learned(2.0, batches=int(PRIOR_BATCHES))
    assert corrections.of_place["m", "v", ("w",)][1] == 0.5


@given(st.lists(st.integers(0, 50), min_size=BIN_COUNT, max_size=BIN_COUNT), st.floats(0.2, 5.0))
def test_shifting_loses_no_batch(made: list[int], factor: float) -> None:
    assert sum(shifted(made, factor)) == pytest.approx(sum(made))


def test_shifting_moves_counts_by_the_factor() -> None:
    for ratio, factor in ((1.0, 2.0), (1.3, 1.0), (2.1, 0.4), (1.0, 1.05)):
        moved = shifted(counts(ratio, 1), factor)
        where = sum(number * part for number, part in enumerate(moved))
        assert where == pytest.approx(bin_of(ratio) + BINS_PER_OCTAVE * log2(factor))
