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
    """Predicts the truth plus 1 over the number of configurations that it saw; is least sure of triples."""

    seen: int

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        truth = np.concatenate([scene.slowdown(each.machine, each.variants) for each in configurations])
        return truth + 1 / self.seen

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        degrees = [float(each.degree) for each in configurations for _ in each.variants]
        return Prediction(self.slowdowns(configurations), np.array(degrees))


@pytest.mark.parametrize("triples", [30, 2])
def test_sizes_are_shares_of_what_can_be_measured_and_the_saving_is_at_two_thirds(
    triples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors are the same for both choices, so that nothing is saved, whatever the sizes are."""
    fitted: list[tuple[Configuration, ...]] = []

    def fit(examples: Examples, *_: object, **__: object) -> OffByWhatItSaw:
        fitted.append(examples.configurations)
        return OffByWhatItSaw(len(examples.configurations))

    monkeypatch.setattr(learning_curves, "fit", fit)
    monkeypatch.setattr(learning_curves, "DRAWS", 2)
    measured = scene.measured(["small"], triples=triples)
    said = learning_curves.learning_curves(measured, scene.table(), "any", 0, lambda _: None)
    pool = round(0.7 * (28 + triples))
    sizes = said["configurations"]
    assert sizes == sorted({max(6, round(share * pool)) for share in learning_curves.SHARES})
    assert said["random_mae"] == pytest.approx([1 / size for size in sizes])
    assert said["active_mae"] == pytest.approx([1 / size for size in sizes])
    assert said["savings_pct"] == pytest.approx([0.0] * len(sizes), abs=1e-6)
    assert said["saving_pct"] == said["savings_pct"][sizes.index(round(pool * 2 / 3))]
    by_random, by_active = fitted[: len(sizes)], fitted[len(sizes) : 2 * len(sizes)]
    assert [len(set(each)) for each in by_active] == sizes
    assert set(by_random[0]) == set(by_active[0])
    assert set(by_random[-1]) == set(by_active[-1])
    assert fmean(each.degree for each in by_active[2]) >= fmean(each.degree for each in by_random[2])
