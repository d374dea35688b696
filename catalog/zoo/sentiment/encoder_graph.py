"""A BERT encoder with a linear head over its pooled tokens, as an ONNX graph."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray

from catalog.zoo.sentiment.graph import GraphWriter

Weights = Mapping[str, NDArray[np.float32]]
"""Tensors by the names of transformers' ``BertModel``, and ``head.weight`` [classes, width] and ``head.bias``."""

EPSILON = 1e-12
MASKED = -1e9
"""What a padded token's score gets; softmax makes exactly 0 of it."""


def encoder_model(weights: Weights, layers: Sequence[int], heads: int, pooling: str) -> onnx.ModelProto:
    """The ``layers`` of ``weights``, numbered from 0, one after the other; inputs ``input_ids`` and ``attention_mask``.

    ``pooling`` is ``mean`` or ``max`` over a text's tokens, or ``first`` token. The table of word embeddings is kept
    in half precision, which halves the file.
    """
    graph = GraphWriter()
    mask = graph.add("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)  # [texts, tokens]
    hidden = _embeddings(graph, weights)
    absent = graph.add("Sub", graph.weight(np.float32(1)), mask)
    penalty = graph.add("Mul", absent, graph.weight(np.float32(MASKED)))
    bias = graph.add("Unsqueeze", penalty, graph.ints(1, 2))  # [texts, 1, 1, tokens]
    for layer in layers:
        hidden = _layer(graph, weights, f"encoder.layer.{layer}.", hidden, bias, heads)
    pooled = _pooled(graph, pooling, hidden, mask, penalty)
    logits = graph.linear(pooled, weights["head.weight"], weights["head.bias"])
    return graph.classifier(logits, ("input_ids", "attention_mask"), len(weights["head.bias"]))


def _embeddings(graph: GraphWriter, weights: Weights) -> str:
    """Normalised sums of word, position and the first type's embeddings: [texts, tokens, width]."""
    words = graph.weight(weights["embeddings.word_embeddings.weight"].astype(np.float16))
    looked_up = graph.add("Cast", graph.add("Gather", words, "input_ids"), to=onnx.TensorProto.FLOAT)
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    tokens = graph.add("Shape", "input_ids", start=1)
    placed = graph.add("Slice", graph.weight(places), graph.ints(0), tokens, graph.ints(0))
    return _norm(graph, weights, "embeddings.LayerNorm", graph.add("Add", looked_up, placed))


def _layer(graph: GraphWriter, weights: Weights, name: str, x: str, bias: str, heads: int) -> str:
    """One layer: attention, then two linear maps, each with a residual and a normalisation."""
    attended = _attention(graph, weights, f"{name}attention.self.", x, bias, heads)
    mixed = _linear(graph, weights, f"{name}attention.output.dense", attended)
    x = _norm(graph, weights, f"{name}attention.output.LayerNorm", graph.add("Add", mixed, x))
    wide = graph.add("Gelu", _linear(graph, weights, f"{name}intermediate.dense", x))
    narrow = _linear(graph, weights, f"{name}output.dense", wide)
    return _norm(graph, weights, f"{name}output.LayerNorm", graph.add("Add", narrow, x))


def _attention(graph: GraphWriter, weights: Weights, name: str, x: str, bias: str, heads: int) -> str:
    """Attention of all heads [texts, tokens, width]; queries, keys and values are one matrix product."""
    parts = [(weights[f"{name}{part}.weight"], weights[f"{name}{part}.bias"]) for part in ("query", "key", "value")]
    width = len(parts[0][1])
    scale = np.float32((width // heads) ** -0.5)
    parts[0] = (parts[0][0] * scale, parts[0][1] * scale)
    together = graph.linear(x, np.concatenate([w for w, _ in parts]), np.concatenate([b for _, b in parts]))
    split = graph.add("Reshape", together, graph.ints(0, 0, 3, heads, width // heads))
    query, key, value = (
        graph.add("Squeeze", part, graph.ints(2))
        for part in graph.many("Split", [split], 3, axis=2, num_outputs=3)  # each [texts, tokens, heads, head width]
    )
    query, value = (graph.add("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
    key = graph.add("Transpose", key, perm=[0, 2, 3, 1])
    scores = graph.add("Add", graph.add("MatMul", query, key), bias)
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    return graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.ints(0, 0, width))


def _pooled(graph: GraphWriter, pooling: str, hidden: str, mask: str, penalty: str) -> str:
    """One vector per text: [texts, width]."""
    if pooling == "first":
        return graph.add("Gather", hidden, graph.weight(np.int64(0)), axis=1)
    if pooling == "max":
        shown = graph.add("Add", hidden, graph.add("Unsqueeze", penalty, graph.ints(2)))
        return graph.add("ReduceMax", shown, graph.ints(1), keepdims=0)
    assert pooling == "mean", pooling
    shown = graph.add("Mul", hidden, graph.add("Unsqueeze", mask, graph.ints(2)))
    total = graph.add("ReduceSum", shown, graph.ints(1), keepdims=0)
    count = graph.add("Max", graph.add("ReduceSum", mask, graph.ints(1), keepdims=1), graph.weight(np.float32(1)))
    return graph.add("Div", total, count)


def _linear(graph: GraphWriter, weights: Weights, name: str, x: str) -> str:
    return graph.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _norm(graph: GraphWriter, weights: Weights, name: str, x: str) -> str:
    return graph.layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], EPSILON)
