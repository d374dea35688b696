"""Graphs over n-grams against counting in Python."""

import numpy as np
import onnxruntime
import pytest

from catalog.zoo.sentiment.ngram_fit import fit_ngrams, ngrams_of
from catalog.zoo.sentiment.ngram_graph import NgramModel, ngram_model
from catalog.zoo.sentiment.recipes import NgramRecipe


def scores(model, rows):
    session = onnxruntime.InferenceSession(ngram_model(model).SerializeToString(), providers=["CPUExecutionProvider"])
    width = max(map(len, rows))
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=np.int64)
    return session.run(["probabilities"], {"input_ids": ids})[0]


def wanted(model, row):
    """Probabilities of one text, counted here."""
    held = set(ngrams_of(row, (1, model.ngrams.shape[1])))
    features = np.array(
        [
            scale if tuple(token for token in ngram.tolist() if token) in held else 0.0
            for ngram, scale in zip(model.ngrams, model.scale, strict=True)
        ]
    )
    if model.normalised:
        features = features / max(1e-6, float(np.linalg.norm(features)))
    logits = features @ model.weight + model.bias
    return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()


@pytest.mark.parametrize("normalised", [False, True])
def test_features_are_the_ngrams_that_a_text_holds_however_often(normalised: bool) -> None:
    rng = np.random.default_rng(1)
    ngrams = np.array([[5, 6, 7], [5, 0, 0], [6, 5, 0], [8, 9, 8], [9, 0, 0], [5, 6, 0]])
    floats = [rng.normal(size=shape).astype(np.float32) for shape in (6, (6, 3), 3)]
    model = NgramModel(ngrams, *floats, normalised=normalised)
    rows = [[5, 6, 7, 5], [9], [1, 2, 3], [8, 9, 8, 9, 8], [6, 5, 6, 5, 6, 7]]
    np.testing.assert_allclose(scores(model, rows), [wanted(model, row) for row in rows], atol=1e-5)


@pytest.mark.parametrize("method", ["naive_bayes", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fitted_model_tells_classes_apart_by_their_ngrams(method, classes) -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(60) % classes
    texts = [[*rng.integers(20, 30, 4).tolist(), 1 + label, 10, 11] for label in labels.tolist()]
    model = fit_ngrams(NgramRecipe("n", method, "token", (1, 2), most=40, strength=1.0), texts, labels)
    found = scores(model, texts)
    assert found.shape == (60, classes)
    assert (found.argmax(1) == labels).all()
    np.testing.assert_allclose(found[:5], [wanted(model, row) for row in texts[:5]], atol=1e-5)


def test_only_so_many_ngrams_are_kept() -> None:
    texts = [[number % 7 + 1, number % 5 + 10] for number in range(50)]
    model = fit_ngrams(NgramRecipe("n", "logistic", "token", (1, 2), most=3), texts, np.arange(50) % 2)
    assert model.ngrams.shape == (3, 2)
