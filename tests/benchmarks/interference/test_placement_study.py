"""Measurements by hand, of which everybody can say where to place what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.interference import placement_study as study
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements
from predictor.predictor import Prediction
from predictor.variant_table import VariantTable
from slowdown_scene import run

QUIET = Measurements((run("m", "ab", 3.0), run("m", "ac", 3.0), run("m", "bc", 1.0)))
"""a disturbs b and c, and they it, 20 ms each; b and c do nothing to each other."""

TRIPLE = Measurements((*QUIET.runs, run("m", "abc", 1.05)))


@dataclass(frozen=True)
class Says:
    """Predicts what it was told of each configuration."""

    by_variants: dict[str, float]

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        return np.concatenate([[self.by_variants["".join(each.variants)]] * each.degree for each in configurations])

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        return Prediction(self.slowdowns(configurations), 0 * self.slowdowns(configurations))


def placed(monkeypatch: pytest.MonkeyPatch, measurements: Measurements, said: dict[str, float]) -> Any:
    """The study with a predictor that says so."""
    monkeypatch.setattr(study, "fit", lambda *_, **__: Says(said))
    return study.placement_study(measurements, VariantTable(), "any", 0, lambda _: None)


TRUTH = {"ab": 3.0, "ac": 3.0, "bc": 1.0, "abc": 1.05}


def test_who_predicts_rightly_places_rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    said = placed(monkeypatch, QUIET, TRUTH)
    assert said["workloads"] == 100
    assert said["oracle"] == pytest.approx(0.0, abs=1e-9)
    assert said["interference_aware"] == pytest.approx(0.0, abs=1e-9)
    by_load = said["least_loaded_by"]
    by_latency = {name for name in by_load if name.startswith("latency")}
    assert said["least_loaded"] == min(added for name, added in by_load.items() if name not in by_latency)
    assert said["least_latency"] == min(by_load[name] for name in by_latency)
    wrong = said["least_loaded"] / 0.04  # 20 ms for each of two: the third goes to the first, in a third of all orders
    assert wrong == pytest.approx(round(wrong))
    assert 50 <= wrong <= 85


def test_the_predictions_count_and_not_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    said = placed(monkeypatch, QUIET, {"ab": 1.0, "ac": 2.0, "bc": 2.0})
    assert said["interference_aware"] == pytest.approx(100 * 0.04)
    assert said["oracle"] == pytest.approx(0.0, abs=1e-9)


def test_every_placement_is_by_a_predictor_that_has_not_seen_what_it_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[Configuration]] = []
    asked: list[set[Configuration]] = []

    class Noting(Says):
        def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
            asked.append(set(configurations))
            return super().slowdowns(configurations)

    def fit(examples: Any, *_: object, **__: object) -> Says:
        seen.append(set(examples.configurations))
        return Noting(TRUTH)

    monkeypatch.setattr(study, "fit", fit)
    study.placement_study(TRIPLE, VariantTable(), "any", 0, lambda _: None)
    everything = set(examples_of(TRIPLE).configurations)
    assert set().union(*asked) == everything
    assert all(not learned & held_out for learned, held_out in zip(seen, asked, strict=True))


def test_three_go_to_one_machine_only_where_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two machine types, b and c slow on the other one: together on the fast one is best, if allowed."""
    fast = [run("f", names, 1.0, 10.0) for names in ("ab", "ac", "bc")]
    slow = [run("s", names, 1.0, 50.0) for names in ("ab", "ac", "bc")]
    alike = dict.fromkeys(("ab", "ac", "bc", "abc"), 1.0)
    two = placed(monkeypatch, Measurements((*fast, *slow)), alike)
    both = two["oracle"] / 0.04  # one of three goes to the slow one, 40 ms, where there is a fast one and a slow one
    assert both == pytest.approx(round(both))
    assert 30 <= both <= 70
    three = placed(monkeypatch, Measurements((*fast, *slow, run("f", "abc", 1.0, 10.0))), alike)
    assert three["oracle"] == pytest.approx(0.0, abs=1e-9)
    assert three["interference_aware"] == pytest.approx(0.0, abs=1e-9)
    by_load = three["least_loaded_by"]
    assert min(by_load["number, by arrival"], by_load["latency, largest first"]) > 0.0
    assert three["least_loaded"] == pytest.approx(0.0, abs=1e-9), "where nobody disturbs anybody, speeds say it all"


@pytest.mark.parametrize(
    "measurements",
    [
        Measurements(QUIET.runs[:2]),
        Measurements((*QUIET.runs[:2], run("n", "bc", 1.0))),
        Measurements((run("m", "abc", 1.5),)),
    ],
)
def test_without_all_pairs_of_three_nothing_can_be_studied(
    monkeypatch: pytest.MonkeyPatch, measurements: Measurements
) -> None:
    said = placed(monkeypatch, measurements, TRUTH)
    assert said == {"least_loaded": None, "interference_aware": None, "oracle": None, "workloads": 0}


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_what_is_recorded_is_found_in_any_order_of_the_variants(order: str) -> None:
    recorded = study.Recorded({Configuration("m", ("a", "b", "c")): (1.0, 2.0, 3.0)})
    (found,) = recorded.slowdowns([Configuration("m", tuple(order))])
    assert dict(zip(order, found, strict=True)) == {"a": 1.0, "b": 2.0, "c": 3.0}


def test_alone_is_not_slowed_down_and_what_was_not_measured_is_no_place() -> None:
    recorded = study.Recorded({Configuration("m", ("a", "a")): (1.5, 2.5)})
    asked = [Configuration("m", each) for each in ((), ("a",), ("a", "a"), ("a", "b"))]
    assert recorded.slowdowns(asked) == [(), (1.0,), (1.5, 2.5), (float("inf"), float("inf"))]


def test_the_largest_first_may_be_the_better_order() -> None:
    machines = (study.Machine("0", "m", 3), study.Machine("1", "m", 3))
    workload = study.Workload(("small", "middle", "large"), machines)
    load = {"small": 1.0, "middle": 2.0, "large": 4.0}
    assert study._largest_first(workload, load) == ("1", "1", "0")
    assert study.least_loaded(workload.variants, machines, load) == ("0", "1", "0")


def test_a_rule_that_knows_how_fast_machines_are_is_among_those_to_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = (study.Machine("slow", "cpu", 3), study.Machine("fast", "gpu", 3))
    load = {(machine, variant): s for machine, s in (("cpu", 10.0), ("gpu", 1.0)) for variant in "abc"}
    assert study.earliest_done("abc", machines, load) == ("fast", "fast", "fast")
    assert study.least_loaded("abc", machines, dict.fromkeys("abc", 5.5)) == ("slow", "fast", "slow")
    names = placed(monkeypatch, QUIET, TRUTH)["least_loaded_by"]
    assert {f"latency on the type, {order}" for order in ("by arrival", "largest first")} <= names.keys()


def test_the_largest_first_goes_by_the_machine_where_a_variant_is_fastest() -> None:
    machines = (study.Machine("0", "cpu", 3), study.Machine("1", "gpu", 3))
    workload = study.Workload(("small", "large"), machines)
    load = {("cpu", "small"): 2.0, ("gpu", "small"): 1.0, ("cpu", "large"): 9.0, ("gpu", "large"): 3.0}
    assert study._largest_first_on_types(workload, load) == ("0", "1")
