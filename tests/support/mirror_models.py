"""A catalogue with the digits and with models that give every tensor back, of every datatype."""

import json
from pathlib import Path
from typing import Any

import onnx
import yaml
from onnx import TensorProto, helper

from catalog.catalogue import load_catalogue
from catalog.tensor import DTYPES

MIRRORED = tuple(name for name in DTYPES if name != "BF16")
ONNX_TYPES = {
    "BOOL": TensorProto.BOOL,
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "BF16": TensorProto.FLOAT,
    "BYTES": TensorProto.STRING,
}
DIGITS = "digits-mlp"


def onnx_type(datatype: str) -> int:
    return ONNX_TYPES.get(datatype) or int(getattr(TensorProto, datatype))


def write_mirror_catalogue(folder: Path) -> dict[str, Any]:
    """Task ``mirror``: ``in_X`` to ``out_X`` for every datatype X but BF16, of rows x 3; ``halves``: the same for BF16;
    and one variant of the digits.

    Gives a variant of ``mirror`` that is not in the catalogue, as clients register it.
    """
    mirror = _mirror(folder, "mirror", MIRRORED, 3)
    halves = _mirror(folder, "halves", ("BF16",), 1)
    builtin = load_catalogue("builtin")
    digits = next(v for v in builtin.variants if v.name == DIGITS)
    described = {
        "name": DIGITS,
        "task": "digits",
        "runtime": digits.runtime,
        "artifact": {"uri": str(Path(builtin.root) / digits.artifact.uri)},
        "accuracy": digits.accuracy,
        "labels": list(digits.labels),
        "inputs": [spec.oip() for spec in digits.inputs],
        "outputs": [spec.oip() for spec in digits.outputs],
    }
    variants = [described, {"name": "mirror-a", "accuracy": 0.9, **mirror}, {"name": "half", "accuracy": 0.9, **halves}]
    (folder / "catalogue.yaml").write_text(yaml.safe_dump({"version": 1, "variants": variants}))
    rows = ["variant,accuracy_pct,batch_size,samples,mean_ms,std_ms,p50_ms,p90_ms,p95_ms,p99_ms"]
    rows += [
        f"{each['name']},{100 * float(str(each['accuracy']))},{batch},10,{ms},0,{ms},{ms},{ms},{ms}"
        for each in variants
        for batch, ms in ((1, 1), (64, 4))
    ]
    (folder / "profiles.csv").write_text("\n".join(rows))
    another = {"name": "mirror", "accuracy": 0.5, **mirror}
    (folder / "variant.json").write_text(json.dumps(another))
    return another


def _mirror(folder: Path, task: str, datatypes: tuple[str, ...], width: int) -> dict[str, Any]:
    nodes = [helper.make_node("Identity", [f"in_{name}"], [f"out_{name}"]) for name in datatypes]
    values = {
        side: [helper.make_tensor_value_info(f"{side}_{name}", onnx_type(name), ["n", width]) for name in datatypes]
        for side in ("in", "out")
    }
    graph = helper.make_graph(nodes, task, values["in"], values["out"])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / f"{task}.onnx")
    return {
        "task": task,
        "runtime": "onnx",
        "artifact": {"uri": f"{task}.onnx"},
        "inputs": [{"name": f"in_{name}", "datatype": name, "shape": [-1, width]} for name in datatypes],
        "outputs": [{"name": f"out_{name}", "datatype": name, "shape": [-1, width]} for name in datatypes],
    }
