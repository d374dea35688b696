"""Metrics, against scikit-learn, and what does not fit them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, mean_absolute_error, top_k_accuracy_score

from catalog.errors import ConfigError
from catalog.evaluation.classes import class_figures, confusion, together
from catalog.evaluation.interval import wilson
from catalog.evaluation.metrics import Predicted, metric, scored

ROWS, CLASSES = 400, 12
RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, CLASSES, ROWS)
SCORES = RNG.random((ROWS, CLASSES)) + 0.7 * np.eye(CLASSES)[LABELS]
SAID = SCORES.argmax(axis=1)
PREDICTED = Predicted({"scores": SCORES, "label": SAID}, SAID, SCORES)


def test_accuracy_is_the_share_of_right_rows_with_wilsons_interval() -> None:
    score = scored("accuracy", PREDICTED, LABELS)
    right = int((SAID == LABELS).sum())
    assert score.value == pytest.approx(right / ROWS)
    assert (score.low, score.high) == wilson(right, ROWS)


def test_top5_is_that_of_scikit_learn() -> None:
    score = scored("top5", PREDICTED, LABELS)
    assert score.value == pytest.approx(top_k_accuracy_score(LABELS, SCORES, k=5))
    assert score.low < score.value < score.high


def test_macro_f1_is_that_of_scikit_learn_and_lies_in_its_interval() -> None:
    score = scored("macro_f1", PREDICTED, LABELS)
    assert score.value == pytest.approx(f1_score(LABELS, SAID, average="macro"))
    assert score.low < score.value < score.high
    assert scored("macro_f1", PREDICTED, LABELS) == score


def test_mean_absolute_error_is_a_share_of_what_the_best_constant_errs() -> None:
    truth = RNG.normal(20.0, 5.0, ROWS)
    given = truth + RNG.normal(0.0, 1.0, ROWS)
    score = scored("mean_absolute_error", Predicted({"y": given}), truth)
    constant = np.abs(truth - np.median(truth)).mean()
    assert score.value == pytest.approx(1.0 - mean_absolute_error(truth, given) / constant)
    assert score.low < score.value < score.high <= 1.0
    assert scored("mean_absolute_error", Predicted({"y": given[:, None]}), truth) == score, "as regressors give it"
    worthless = scored("mean_absolute_error", Predicted({"y": np.full(ROWS, 1e3)}), truth)
    assert (worthless.value, worthless.low) == (0.0, 0.0)


def test_a_function_of_ones_own_is_named_by_its_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_metrics.py").write_text(
        "def per_row(outputs, labels):\n    return (outputs['label'] == labels) * 0.5\n"
        "def of_all(outputs, labels):\n    return float((outputs['label'] == labels).mean())\n"
        "def wrong(outputs, labels):\n    return [1.0]\n"
        "def large(outputs, labels):\n    return 3.0\n"
        "def failing(outputs, labels):\n    return outputs['logits']\n"
        "def worded(outputs, labels):\n    return 'good'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    right = float((SAID == LABELS).mean())
    assert scored("own_metrics:per_row", PREDICTED, LABELS).value == pytest.approx(right / 2)
    whole = scored("own_metrics:of_all", PREDICTED, LABELS)
    assert whole.value == pytest.approx(right)
    assert whole.low < right < whole.high
    with pytest.raises(ConfigError, match="1 scores for 400 rows"):
        scored("own_metrics:wrong", PREDICTED, LABELS)
    with pytest.raises(ConfigError, match="gives 3; a score is from 0 to 1"):
        scored("own_metrics:large", PREDICTED, LABELS)
    with pytest.raises(ConfigError, match="'own_metrics:failing' fails on 400 rows: KeyError: 'logits'; it is called"):
        scored("own_metrics:failing", PREDICTED, LABELS)
    with pytest.raises(ConfigError, match="'own_metrics:worded' fails on 400 rows: ValueError: could not convert"):
        scored("own_metrics:worded", PREDICTED, LABELS)
    sys.modules.pop("own_metrics")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acuracy", "metric 'acuracy' is unknown .did you mean 'accuracy'"),
        ("no_such_module:f", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("catalog.errors:f", "cannot be imported"),
        ("math:pi", "metric 'math:pi' is a float, and cannot be called; name a function"),
    ],
)
def test_what_is_no_metric_is_refused(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        metric(name)


def test_metrics_of_classes_need_classes() -> None:
    values = Predicted({"y": np.zeros(ROWS)})
    for name in ("accuracy", "macro_f1"):
        with pytest.raises(ConfigError, match="no output names any"):
            scored(name, values, LABELS)
    with pytest.raises(ConfigError, match="scores of all classes"):
        scored("top5", values, LABELS)


def test_classes_have_their_figures_and_pairs_what_both_get_right() -> None:
    labels, said = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])
    figures = class_figures(confusion(labels, said, 3), ("a", "b", "c"))
    assert figures["a"] == {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "examples": 2}
    assert figures["b"] == {"precision": pytest.approx(1 / 3), "recall": 1.0, "f1": 0.5, "examples": 1}
    assert figures["c"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "examples": 1}
    pairs = together({"one": said, "other": np.array([0, 1, 0, 2])}, labels)
    assert pairs["one"]["other"] == {"both_right": 0.25, "agree": 0.5}
