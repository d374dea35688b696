"""Arithmetic of one ONNX node, from the shapes of its tensors."""

from collections.abc import Mapping
from math import prod
from typing import Any

from predictor.features.operator_kinds import KIND_OF

NORMALISED_ELEMENT_FLOPS = 5
"""Of softmax and normalisation, per element: about what subtracting, squaring or exponentiating, summing and scaling
take."""

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

Shape = tuple[int, ...]


def flops_of(node: Any, shapes: Mapping[str, Shape]) -> int:
    """Floating-point operations of ``node``, a multiplication and an addition being two.

    Convolutions, matrix products and recurrent cells by their definition in ONNX, with biases but for those of
    recurrent cells; elementwise nodes one for each element written, softmax and normalisation
    `NORMALISED_ELEMENT_FLOPS`, reductions one for each element read (poolings one for each element of each window).
    All others none, and so nodes whose shapes are unknown.
    """
    output = shapes.get(node.output[0]) if node.output else None
    inputs = [shapes.get(name) for name in node.input if name]
    if output is None or any(shape is None for shape in inputs):
        return 0
    given: list[Shape] = [shape for shape in inputs if shape is not None]
    kind = KIND_OF.get(node.op_type)
    if node.op_type in ("Conv", "ConvTranspose", "ConvInteger"):
        return _convolution(node.op_type, given, output)
    if node.op_type in ("MatMul", "MatMulInteger", "FusedMatMul"):
        return 2 * prod(output) * given[0][-1]
    if node.op_type == "Gemm":
        inner = given[0][0] if _attribute(node, "transA", 0) else given[0][1]
        return prod(output) * (2 * inner + (len(given) > 2))
    if kind == "recurrent":
        return _recurrent(node, given)
    if node.op_type in ("MaxPool", "AveragePool", "LpPool"):
        kernel: list[int] = _attribute(node, "kernel_shape", [1])
        return prod(output) * prod(kernel)
    if kind == "reduction":
        return prod(given[0])
    if kind == "elementwise":
        return prod(output)
    if kind == "normalisation" or node.op_type in ("Softmax", "LogSoftmax"):
        return NORMALISED_ELEMENT_FLOPS * prod(output)
    return 0


def _convolution(operator: str, given: list[Shape], output: Shape) -> int:
    """A weight is [out, in / group, kernel...], of a transposed one [in, out / group, kernel...]."""
    weights = given[1]
    applied = given[0] if operator == "ConvTranspose" else output
    bias = prod(output) if operator != "ConvInteger" and len(given) > 2 else 0
    return 2 * prod(applied) * prod(weights[1:]) + bias


def _recurrent(node: Any, given: list[Shape]) -> int:
    """Input [length, batch, in], weights [directions, gates * hidden, in], recurrences [..., hidden]."""
    (first, second, inward), (directions, _, _) = given[0], given[1]
    hidden = given[2][-1]
    return 2 * first * second * directions * _GATES[node.op_type] * hidden * (inward + hidden)


def _attribute(node: Any, name: str, default: Any) -> Any:
    from onnx import helper

    return next((helper.get_attribute_value(each) for each in node.attribute if each.name == name), default)
