"""What kinds and metrics are compared by."""

import pytest

import slowdown_scene as scene
from benchmarks.interference import accuracy, learned
from predictor import training
from predictor.examples import Examples
from predictor.kinds import FOREST
from predictor.models.trees import Trees, fit_trees


def test_of_many_measurements_a_sample_is_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def fit(examples: Examples, *_: object, **__: object) -> Trees:
        seen.append(len(examples))
        return fit_trees(examples, scene.table(), FOREST)

    monkeypatch.setattr(accuracy, "KINDS", (FOREST,))
    monkeypatch.setitem(training.train.__kwdefaults__, "kinds", (FOREST,))
    for module in (accuracy, training):
        monkeypatch.setattr(module, "fit", fit)
    measured = scene.measured(["small", "large"])
    everything = accuracy.accuracy(measured, scene.table(), 0, lambda _: None)
    assert everything["training_configurations"] == round(0.7 * len(measured.repeats))
    assert max(seen) > 100
    seen.clear()
    monkeypatch.setattr(learned, "MOST_LEARNED", 60)
    of_sample = accuracy.accuracy(measured, scene.table(), 0, lambda _: None)
    assert of_sample["test_configurations"] == everything["test_configurations"]
    assert 20 <= of_sample["training_configurations"] <= 30
    assert 55 < max(seen) <= 60
