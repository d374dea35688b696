"""What makes a valid number of the digits that were read, as ONNX graphs: three of them, dearer and better in turn.

All take ``probabilities`` FP32 [N, 9, 10] and ``length`` INT64 [N], the digits of each number, and give ``digits``
INT64 [N, 9], -1 behind the last, and ``valid`` BOOL [N]: whether there are digits and their check digit holds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from catalog.zoo.sentiment.graph import GraphWriter
from catalog.zoo.strips.damm import TABLE
from catalog.zoo.strips.layout import MAX_DIGITS

_BASE = len(TABLE)
_NONE = _BASE
"""Stands for no digit, which leaves the state as it is."""
_NEXT = np.concatenate([TABLE, np.arange(_BASE)[:, None]], axis=1)
"""State by the one before and the digit."""
_PREVIOUS = _NEXT.argsort(axis=0)
"""State by the one after and the digit: every column of `_NEXT` has each state once."""
_BETWEEN = TABLE.argsort(axis=1)
"""Digit by the states before and after: so has every row of `TABLE`."""
_LEAST_PROBABILITY = np.float32(1e-12)
_NEVER = np.float32(-1e9)
"""Logarithm of the probability of what cannot be."""


class _Inputs(NamedTuple):
    """Values that every graph begins with."""

    present: str  # BOOL [N, 9]
    log: str  # FP32 [N, 9, 10], of the probabilities
    likeliest: str  # INT64 [N, 9], the digit of the highest probability, `_NONE` where there is none


def argmax_model() -> onnx.ModelProto:
    """The likeliest digit at every place, whatever the check digit says."""
    graph = GraphWriter()
    read = _inputs(graph)
    states = _states(graph, _columns(graph, read.likeliest))
    return _model(graph, read, read.likeliest, graph.add("Equal", states[-1], graph.ints(0)))


def single_model() -> onnx.ModelProto:
    """The likeliest digits; where they are not valid, with the one change that makes them so and costs the least.

    At every place one other digit makes the number valid. The place is taken where that one's probability is the
    highest in relation to the likeliest digit's. A number that is valid has no change to make.
    """
    graph = GraphWriter()
    read = _inputs(graph)
    digits = _columns(graph, read.likeliest)
    before = graph.add("Concat", *_states(graph, digits)[:-1], axis=1)
    needed = [graph.add("Mul", digits[-1], graph.ints(0))]
    for digit in reversed(digits[1:]):
        needed.append(_looked_up(graph, _PREVIOUS, needed[-1], digit))
    after = graph.add("Concat", *reversed(needed), axis=1)
    other = _looked_up(graph, _BETWEEN, before, after)
    own = graph.add("ReduceMax", read.log, graph.ints(2), keepdims=0)
    changed = graph.add(
        "Squeeze",
        graph.add("GatherElements", read.log, graph.add("Unsqueeze", other, graph.ints(2)), axis=2),
        graph.ints(2),
    )
    gain = graph.add("Where", read.present, graph.add("Sub", changed, own), graph.weight(_NEVER))
    place = graph.add("ArgMax", gain, axis=1, keepdims=1)
    here = graph.add("Equal", graph.weight(np.arange(MAX_DIGITS)), place)
    return _model(graph, read, graph.add("Where", here, other, read.likeliest), None)


def exact_model() -> onnx.ModelProto:
    """The likeliest of all valid numbers, by dynamic programming over the state (Viterbi 1967), unrolled.

    Forwards, the probability of the best digits that end in each state, and the last of them; backwards from state 0,
    those digits. A place without a digit has `_NONE`, with probability 1.
    """
    graph = GraphWriter()
    read = _inputs(graph)
    present = graph.add("Unsqueeze", read.present, graph.ints(2))
    steps = graph.add(
        "Concat",
        graph.add("Where", present, read.log, graph.weight(_NEVER)),
        graph.add("Where", present, graph.weight(_NEVER), graph.weight(np.float32(0.0))),
        axis=2,
    )
    best = graph.weight(np.where(np.arange(_BASE) == 0, 0.0, _NEVER)[None].astype(np.float32))
    previous = graph.weight(_PREVIOUS)
    chosen = []
    for step in graph.many("Split", [steps], MAX_DIGITS, axis=1, num_outputs=MAX_DIGITS):
        paths = graph.add("Add", graph.add("Gather", best, previous, axis=1), step)
        best = graph.add("ReduceMax", paths, graph.ints(2), keepdims=0)
        chosen.append(graph.add("ArgMax", paths, axis=2, keepdims=0))
    state = graph.ints(0)
    digits = []
    for last, choice in enumerate(reversed(chosen)):
        if last == 0:
            digit = graph.add("Gather", choice, state, axis=1)
        else:
            digit = graph.add("GatherElements", choice, state, axis=1)
        state = _looked_up(graph, _PREVIOUS, state, digit)
        digits.append(digit)
    return _model(graph, read, graph.add("Concat", *reversed(digits), axis=1), None)


GRAPHS: dict[str, Callable[[], onnx.ModelProto]] = {
    "strip-check-argmax": argmax_model,
    "strip-check-single": single_model,
    "strip-check-exact": exact_model,
}
"""The ladder, fastest first."""


def _inputs(graph: GraphWriter) -> _Inputs:
    length = graph.add("Unsqueeze", "length", graph.ints(1))
    present = graph.add("Less", graph.weight(np.arange(MAX_DIGITS)), length)
    log = graph.add("Log", graph.add("Max", "probabilities", graph.weight(_LEAST_PROBABILITY)))
    likeliest = graph.add("ArgMax", "probabilities", axis=2, keepdims=0)
    return _Inputs(present, log, graph.add("Where", present, likeliest, graph.weight(np.int64(_NONE))))


def _columns(graph: GraphWriter, digits: str) -> list[str]:
    """One value [N, 1] for each place of ``digits`` [N, 9]."""
    return graph.many("Split", [digits], MAX_DIGITS, axis=1, num_outputs=MAX_DIGITS)


def _states(graph: GraphWriter, digits: list[str]) -> list[str]:
    """The state [N, 1] before each of the digits [N, 1], and after the last."""
    states = [graph.add("Mul", digits[0], graph.ints(0))]
    for digit in digits:
        states.append(_looked_up(graph, _NEXT, states[-1], digit))
    return states


def _looked_up(
    graph: GraphWriter, table: np.ndarray[tuple[int, ...], np.dtype[np.int64]], row: str, column: str
) -> str:
    """Elements of ``table``."""
    at = graph.add("Add", graph.add("Mul", row, graph.ints(table.shape[1])), column)
    return graph.add("Gather", graph.weight(table.ravel()), at)


def _model(graph: GraphWriter, read: _Inputs, digits: str, holds: str | None) -> onnx.ModelProto:
    """The model that answers with ``digits`` [N, 9]; ``holds`` [N, 1] is None where their check digit always does."""
    length = graph.add("Greater", "length", graph.ints(0))
    graph.named(graph.add("Where", read.present, digits, graph.ints(-1)), "digits")
    graph.named(
        length if holds is None else graph.add("And", length, graph.add("Squeeze", holds, graph.ints(1))), "valid"
    )
    taken = [
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["strips", MAX_DIGITS, _BASE]),
        helper.make_tensor_value_info("length", TensorProto.INT64, ["strips"]),
    ]
    given = [
        helper.make_tensor_value_info("digits", TensorProto.INT64, ["strips", MAX_DIGITS]),
        helper.make_tensor_value_info("valid", TensorProto.BOOL, ["strips"]),
    ]
    return graph.model("check", taken, given)
