import json

import numpy as np
import pytest

from benchmarks.placement.effect_choices import BY_P95, IN_MS, LATENCY_SUM, RELATIVE, Split
from benchmarks.placement.effect_figures import (
    MeasuredMix,
    described,
    name_of,
    spread,
    summary,
)

ONE: Split = (("a", "b"), ("c",))
TWO: Split = (("a", "c"), ("b",))


def measured(aware: Split, by_number: Split, by_latency: Split = TWO) -> MeasuredMix:
    """``ONE`` takes 2, 2.2 and 2.4 ms in three runs, ``TWO`` twice as much."""
    of_one = np.array([2.0, 2.4, 2.2])
    return MeasuredMix(
        ("a", "b", "c"),
        {**dict.fromkeys(BY_P95.values(), aware), LATENCY_SUM: ONE, "number": by_number, "latency": by_latency},
        {ONE: {IN_MS: of_one, RELATIVE: of_one}, TWO: {IN_MS: 2 * of_one, RELATIVE: 2 * of_one}},
        (0.0, 0.1, 0.0),
    )


def test_the_spread_is_median_and_range() -> None:
    assert spread(np.array([3.0, 1.0, 2.0])) == {"median": 2.0, "least": 1.0, "most": 3.0}


def test_who_places_alike_gains_exactly_nothing() -> None:
    found = summary([measured(ONE, ONE), measured(ONE, ONE)])[IN_MS]
    assert found["gain"] == {"median": 1.0, "least": 1.0, "most": 1.0}
    assert found["placed_alike"] == 2
    assert found["interference_aware"] == found["least_loaded"] == found["oracle"]


def test_gains_are_of_the_same_run_and_the_mean_over_mixes_is_geometric() -> None:
    found = summary([measured(ONE, TWO), measured(ONE, ONE)])[IN_MS]
    assert found["gain"] == pytest.approx(dict.fromkeys(("median", "least", "most"), 2**0.5))
    assert found["placed_alike"] == 1
    assert found["least_loaded"]["median"] == pytest.approx(2.2 * 2**0.5)


def test_a_predictor_that_places_worse_has_a_gain_below_one() -> None:
    found = summary([measured(TWO, ONE)])[RELATIVE]
    assert found["gain"]["most"] == pytest.approx(0.5)
    assert found["oracle"]["median"] == pytest.approx(2.2)


def test_the_least_loaded_scheduler_is_the_best_in_hindsight() -> None:
    found = summary([measured(ONE, TWO, ONE)])[IN_MS]
    assert found["best_least_loaded"] == "latency"
    assert found["gain"]["median"] == pytest.approx(1.0)
    assert found["gain_over_each"]["number"]["median"] == pytest.approx(2.0)


def test_a_mix_is_described_in_json_values() -> None:
    found = json.loads(json.dumps(described(measured(ONE, TWO))))
    assert found["chosen"][BY_P95[IN_MS]] == "a + b | c" == name_of(ONE)
    assert found["placements"]["a + c | b"][IN_MS] == {
        "median": 4.4,
        "least": 4.0,
        "most": 4.8,
        "runs": [4.0, 4.8, 4.4],
    }
    assert found["oracle"][IN_MS] == "a + b | c"
