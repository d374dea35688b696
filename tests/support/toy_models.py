"""A catalogue of tiny ONNX models, one of which breaks on some inputs and one of which is no model at all."""

from pathlib import Path

import numpy as np
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper

LIMIT = 4
"""The brittle model raises on values from here on."""


def write_toy_catalogue(folder: Path) -> Path:
    """Variants of task ``toy``, most accurate first: ``corrupt``, ``brittle`` (2x below LIMIT), ``good`` (2x)."""
    _save(folder / "good.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [])
    table = numpy_helper.from_array(np.arange(0, 2 * LIMIT, 2, dtype=np.float32), "table")
    lookup = [
        helper.make_node("Cast", ["x"], ["index"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "index"], ["y"]),
    ]
    _save(folder / "brittle.onnx", lookup, [table])
    (folder / "corrupt.onnx").write_bytes(b"this is no model")
    tensors = {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1]}],
    }
    variants = [
        {"name": name, "task": "toy", "runtime": "onnx", "artifact": {"uri": f"{name}.onnx"}, "accuracy": accuracy}
        | tensors
        for name, accuracy in (("corrupt", 0.9), ("brittle", 0.8), ("good", 0.7))
    ]
    catalogue = folder / "catalogue.yaml"
    catalogue.write_text(yaml.safe_dump({"version": 1, "variants": variants}))
    rows = ["variant,accuracy_pct,batch_size,samples,mean_ms,std_ms,p50_ms,p90_ms,p95_ms,p99_ms"]
    rows += [f"{v['name']},{100 * float(str(v['accuracy']))},1,10,1,0,1,1,1,1" for v in variants]
    (folder / "profiles.csv").write_text("\n".join(rows))
    return catalogue


def _save(path: Path, nodes: list[onnx.NodeProto], constants: list[onnx.TensorProto]) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph(nodes, "toy", [x], [y], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
