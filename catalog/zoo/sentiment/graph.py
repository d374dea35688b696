"""Writes ONNX graphs node by node."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
IR_VERSION = 10


class GraphWriter:
    """Nodes and weights of a graph; every method adds nodes and gives the name of what they make."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def weight(self, array: NDArray[Any] | np.generic) -> str:
        """A constant."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        """A constant vector of INT64."""
        return self.weight(np.array(values, dtype=np.int64))

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        return self.many(op, inputs, 1, **attributes)[0]

    def many(self, op: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """A node with ``count`` outputs."""
        outputs = [f"t{len(self._nodes)}_{index}" for index in range(count)]
        self._nodes.append(helper.make_node(op, list(inputs), outputs, **attributes))
        return outputs

    def linear(self, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        """x @ weight.T + bias, for a weight [outputs, inputs] as torch keeps them."""
        return self.add("Add", self.add("MatMul", x, self.weight(weight.T)), self.weight(bias))

    def layer_norm(self, x: str, weight: NDArray[Any], bias: NDArray[Any], epsilon: float) -> str:
        """Layer normalisation over the last axis."""
        return self.add("LayerNormalization", x, self.weight(weight), self.weight(bias), epsilon=epsilon)

    def classifier(self, logits: str, inputs: Sequence[str], classes: int) -> onnx.ModelProto:
        """The checked model that ends in ``logits`` [texts, classes]: outputs ``label`` and ``probabilities``.

        ``inputs`` are names of INT64 tensors [texts, tokens].
        """
        self._nodes.append(helper.make_node("Softmax", [logits], ["probabilities"], axis=-1))
        self._nodes.append(helper.make_node("ArgMax", [logits], ["label"], axis=-1, keepdims=0))
        taken = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs]
        given = [
            helper.make_tensor_value_info("label", TensorProto.INT64, ["texts"]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["texts", classes]),
        ]
        return self.model("classifier", taken, given)

    def named(self, value: str, name: str) -> None:
        """Give a value the name of an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def model(
        self, name: str, taken: Sequence[onnx.ValueInfoProto], given: Sequence[onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """The checked model of all nodes so far."""
        graph = helper.make_graph(self._nodes, name, list(taken), list(given), self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model
