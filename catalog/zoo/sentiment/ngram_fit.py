"""Fits models over n-grams of tokens or characters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from catalog.errors import ConfigError
from catalog.zoo.sentiment.ngram_graph import NgramModel
from catalog.zoo.sentiment.recipes import NgramRecipe

Ngram = tuple[int, ...]


def fit_ngrams(recipe: NgramRecipe, texts: Sequence[Sequence[int]], labels: NDArray[np.int64]) -> NgramModel:
    """The model of ``recipe`` for texts as token ids and their classes; the same input gives the same model."""
    counter = CountVectorizer(
        analyzer=lambda ids: ngrams_of(ids, recipe.lengths), binary=True, min_df=min(recipe.least_texts, len(texts))
    )
    try:
        held = csr_matrix(counter.fit_transform(texts), dtype=np.float64)  # [texts, n-grams]
    except ValueError as error:
        raise ConfigError(
            f"no n-gram is in {recipe.least_texts} of the {len(texts)} texts, which {recipe.name} needs; "
            "give more texts"
        ) from error
    found: list[Ngram] = sorted(counter.vocabulary_, key=counter.vocabulary_.__getitem__)
    if recipe.method == "naive_bayes":
        kept = _telling(held, labels, recipe)
        scale = np.ones(len(kept))
        weight, bias = _naive_bayes(held[:, kept], labels, recipe.strength)
    else:
        idf = np.log((1 + held.shape[0]) / (1 + np.asarray(held.sum(0)).ravel())) + 1
        first, _ = _logistic(held, idf, labels, recipe.strength)
        kept = np.sort(np.argsort(-np.abs(first * idf[:, None]).max(1), kind="stable")[: recipe.most])
        scale = idf[kept]
        weight, bias = _logistic(held[:, kept], scale, labels, recipe.strength)
    ids = np.zeros((len(kept), recipe.lengths[1]), dtype=np.int64)
    for row, column in enumerate(kept):
        ids[row, : len(found[column])] = found[column]
    single = np.float32
    return NgramModel(
        ids, scale.astype(single), weight.astype(single), bias.astype(single), normalised=recipe.method == "logistic"
    )


def ngrams_of(ids: Sequence[int], lengths: tuple[int, int]) -> list[Ngram]:
    """Every n-gram of a text, as often as it is there."""
    shortest, longest = lengths
    return [
        tuple(ids[start : start + length])
        for length in range(shortest, longest + 1)
        for start in range(len(ids) - length + 1)
    ]


def _telling(held: csr_matrix, labels: NDArray[np.int64], recipe: NgramRecipe) -> NDArray[np.int64]:
    """Columns of the n-grams whose weights differ most between classes, times the root of how often they are there."""
    weight, _ = _naive_bayes(held, labels, recipe.strength)
    worth = np.ptp(weight, axis=1) * np.sqrt(np.asarray(held.sum(0)).ravel())
    return np.sort(np.argsort(-worth, kind="stable")[: recipe.most])


def _naive_bayes(
    held: csr_matrix, labels: NDArray[np.int64], smoothing: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log probabilities of n-grams less their mean [n-grams, classes], and of classes [classes]."""
    fitted = MultinomialNB(alpha=smoothing).fit(held, labels)
    weight = fitted.feature_log_prob_.T
    return weight - weight.mean(1, keepdims=True), fitted.class_log_prior_  # softmax minds no common shift


def _logistic(
    held: csr_matrix, idf: NDArray[np.float64], labels: NDArray[np.int64], strength: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights [n-grams, classes] and bias [classes] over normalised features."""
    scaled = held.multiply(idf).tocsr()
    length = np.sqrt(np.asarray(scaled.multiply(scaled).sum(1)).ravel())
    features = csr_matrix(scaled.multiply(1 / np.maximum(length, 1e-6)[:, None]))
    fitted = LogisticRegression(C=strength, max_iter=500).fit(features, labels)
    weight, bias = fitted.coef_.T, fitted.intercept_
    if weight.shape[1] == 1:  # two classes: the score of the second one
        weight = np.concatenate([np.zeros_like(weight), weight], axis=1)
        bias = np.array([0.0, bias[0]])
    return weight, bias
