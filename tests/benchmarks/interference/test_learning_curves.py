"""Savings by hand, and curves of predictors whose errors are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pytest
from numpy.typing import NDArray

import slowdown_scene as scene
from benchmarks.interference import learning_curves
from benchmarks.interference.learning_curves import _needed
from predictor.configuration import Configuration
from predictor.examples import Examples
from predictor.predictor import Prediction


@pytest.mark.parametrize(
    ("errors", "error", "needed"),
    [
        ([0.8, 0.4, 0.2], 0.4, 20.0),
        ([0.8, 0.4, 0.2], 0.6, 15.0),  # half of the way from 10 to 20
        ([0.8, 0.4, 0.2], 0.25, 35.0),
        ([0.8, 0.4, 0.2], 0.9, 10.0),
        ([0.8, 0.4, 0.2], 0.1, None),
        ([0.4, 0.8, 0.2], 0.5, 30.0),  # where it stays below
        ([0.1, 0.1, 0.3], 0.2, None),
        ([0.2, 0.2, 0.2], 0.2, 10.0),
    ],
)
def test_configurations_that_are_needed_are_between_two_sizes(
    errors: list[float], error: float, needed: float | None
) -> None:
    found = _needed([10, 20, 40], errors, error)
    assert found == (None if needed is None else pytest.approx(needed))


@dataclass(frozen=True)
class OffByWhatItSaw:
    """Predicts the truth plus 1 over what it saw, where a triple counts twice; is least sure of triples."""

    configurations: tuple[Configuration, ...]

    @property
    def number(self) -> int:
        return len(set(self.configurations))

    @property
    def error(self) -> float:
        return 1 / sum(each.degree - 1 for each in self.configurations)

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        truth = np.concatenate([scene.slowdown(each.machine, each.variants) for each in configurations])
        return truth + self.error

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        degrees = [float(each.degree) for each in configurations for _ in each.variants]
        return Prediction(self.slowdowns(configurations), np.array(degrees))


@pytest.mark.parametrize("triples", [30, 2])
def test_sizes_are_shares_of_what_can_be_measured_and_the_saving_is_at_two_thirds(
    triples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The more triples there are, the more is saved by choosing them first; at the end, nothing."""
    fitted: list[OffByWhatItSaw] = []

    def fit(examples: Examples, *_: object, **__: object) -> OffByWhatItSaw:
        fitted.append(OffByWhatItSaw(examples.configurations))
        return fitted[-1]

    monkeypatch.setattr(learning_curves, "fit", fit)
    monkeypatch.setattr(learning_curves, "DRAWS", 2)
    measured = scene.measured(["small"], triples=triples)
    said = learning_curves.learning_curves(measured, scene.table(), "any", 0, lambda _: None)
    pool = round(0.7 * (28 + triples))
    sizes = said["configurations"]
    assert sizes == sorted({max(6, round(share * pool)) for share in learning_curves.SHARES})
    by_random, by_active = [], []
    while fitted:
        by_random.append([fitted.pop(0) for _ in sizes])
        rounds = [fitted.pop(0)]
        while rounds[-1].number < pool:
            rounds.append(fitted.pop(0))
            most = max(1, round(learning_curves.PER_ROUND_SHARE * pool))
            assert 0 < rounds[-1].number - rounds[-2].number <= most
        by_active.append([each for each in rounds if each.number in sizes])
    for name, own in (("random_mae", by_random), ("active_mae", by_active)):
        assert said[name] == pytest.approx([fmean(each.error for each in same) for same in zip(*own, strict=True)])
        assert [[each.number for each in draw] for draw in own] == [sizes, sizes]
    for random, active in zip(by_random, by_active, strict=True):
        assert random[0] == active[0], "both begin with the same"
        assert set(random[-1].configurations) == set(active[-1].configurations)
    savings = said["savings_pct"]
    assert savings == [
        pytest.approx(100 * (1 - (_needed(sizes, said["active_mae"], error) or 0) / size))
        for size, error in zip(sizes, said["random_mae"], strict=True)
    ]
    assert said["saving_pct"] == savings[sizes.index(round(pool * 2 / 3))]
    assert savings[-2] != pytest.approx(savings[-3]), "the example does not tell one size from another"
    assert said["saving_pct"] > 0


def test_of_many_measurements_no_more_are_taken_than_a_predictor_learns_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[Configuration] = set()

    def fit(examples: Examples, *_: object, **__: object) -> OffByWhatItSaw:
        seen.update(examples.configurations)
        return OffByWhatItSaw(examples.configurations)

    monkeypatch.setattr(learning_curves, "fit", fit)
    monkeypatch.setattr(learning_curves, "DRAWS", 2)
    measured = scene.measured(["small", "large"])
    said = learning_curves.learning_curves(measured, scene.table(), "any", 0, lambda _: None)
    assert said["sampled_configurations"] == len(measured.repeats) == 2 * (28 + 25)
    seen.clear()
    monkeypatch.setattr(learning_curves, "MOST_EXAMPLES", 100)
    said = learning_curves.learning_curves(measured, scene.table(), "any", 0, lambda _: None)
    assert 33 <= said["sampled_configurations"] <= 50
    assert said["configurations"][-1] == round(0.7 * said["sampled_configurations"])
    assert 70 < sum(each.degree for each in seen) <= 100
