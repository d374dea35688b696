"""A linear model over n-grams of tokens, as an ONNX graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray

from catalog.zoo.sentiment.graph import GraphWriter


@dataclass(frozen=True)
class NgramModel:
    """A score per class of the n-grams that a text holds.

    A text's features are ``scale`` per n-gram that it holds, however often, divided by their Euclidean length where
    ``normalised``; scores are features @ ``weight`` + ``bias``.
    """

    ngrams: NDArray[np.int64]
    """Token ids [n-grams, longest], 0 behind the last token of a shorter one."""
    scale: NDArray[np.float32]
    """[n-grams]"""
    weight: NDArray[np.float32]
    """[n-grams, classes]"""
    bias: NDArray[np.float32]
    """[classes]"""
    normalised: bool

    def __post_init__(self) -> None:
        assert len(self.ngrams) == len(self.scale) == len(self.weight)


def ngram_model(model: NgramModel) -> onnx.ModelProto:
    """The graph of ``model``; its one input is ``input_ids``, where 0 is padding."""
    graph = GraphWriter()
    lengths = (model.ngrams != 0).sum(1)
    order = np.argsort(lengths, kind="stable")
    longest = int(lengths.max())
    features = graph.add(
        "TfIdfVectorizer",
        "input_ids",
        mode="IDF",  # `weights` of an n-gram that is there, 0 of one that is not
        min_gram_length=1,
        max_gram_length=longest,
        max_skip_count=0,
        ngram_counts=_starts(lengths, longest),
        ngram_indexes=list(range(len(order))),
        pool_int64s=[int(token) for row in order for token in model.ngrams[row][: lengths[row]]],
        weights=model.scale[order].tolist(),
    )
    if model.normalised:
        length = graph.add("ReduceL2", features, graph.ints(1), keepdims=1)
        features = graph.add("Div", features, graph.add("Max", length, graph.weight(np.float32(1e-6))))
    scores = graph.add("MatMul", features, graph.weight(model.weight[order]))
    logits = graph.add("Add", scores, graph.weight(model.bias))
    return graph.classifier(logits, ("input_ids",), len(model.bias))


def _starts(lengths: NDArray[np.int64], longest: int) -> Sequence[int]:
    """Where in the pool the n-grams of each length begin, length 1 first."""
    sizes = [int((lengths == length).sum()) * length for length in range(1, longest + 1)]
    return [sum(sizes[:index]) for index in range(longest)]
