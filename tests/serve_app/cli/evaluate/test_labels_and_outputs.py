"""How answers are read: the labels they are compared by, and the output that has the scores."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from evaluate_scene import NAMES, evaluate
from onnx import TensorProto, helper

from catalog.catalogue import load_catalogue


def test_corrected_labels_are_compared_anew_with_the_answers_that_were_kept(
    digits: Path, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    common = (str(digits), "--data", str(data), "--out", str(tmp_path / "e"), "--limit", "100", "--json")
    assert evaluate(*common).exit_code == 0
    content = yaml.safe_load(digits.read_text())
    for entry in content["variants"]:
        entry["labels"] = entry["labels"][::-1]
    digits.write_text(yaml.safe_dump(content))
    changed = load_catalogue(digits)
    assert all(changed.variant(name).measured is None for name in NAMES)
    assert changed.outdated == {changed.votes["digits"]: set(NAMES)}
    body = json.loads(evaluate(*common).stdout)
    assert all(each["kept_rows"] == 100 for each in body["variants"].values())
    assert all(load_catalogue(digits).variant(name).measured is not None for name in NAMES)


def test_an_embedding_beside_the_scores_is_not_taken_for_them(tmp_path: Path) -> None:
    identity = [helper.make_node("Identity", ["x"], ["probs"]), helper.make_node("Neg", ["wide"], ["embedding"])]
    pad = helper.make_node("Concat", ["x", "x"], ["wide"], axis=1)
    x, probs, embedding = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
        for name, width in (("x", 3), ("probs", 3), ("embedding", 6))
    )
    graph = helper.make_graph([pad, *identity], "g", [x], [embedding, probs])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    outputs = [
        {"name": name, "datatype": "FP32", "shape": [-1, width]} for name, width in (("embedding", 6), ("probs", 3))
    ]
    entry = {
        "name": "m",
        "task": "t",
        "runtime": "onnx",
        "artifact": {"uri": "m.onnx"},
        "accuracy": 0.5,
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": outputs,
    }
    catalogue = tmp_path / "models.yaml"
    np.savez(tmp_path / "rows.npz", x=np.eye(3, dtype=np.float32)[[0, 1, 2, 1]], label=np.array([0, 1, 2, 1]))
    common = (str(catalogue), "--data", str(tmp_path / "rows.npz"), "--out", str(tmp_path / "e"))
    catalogue.write_text(yaml.safe_dump({"version": 1, "variants": [entry]}))
    refused = evaluate(*common)
    assert refused.exit_code == 2
    words = (
        "each of embedding FP32 [-1, 6], probs FP32 [-1, 3] may be the scores of classes; give `labels:`, or list only"
    )
    assert words in " ".join(refused.stderr.split())
    catalogue.write_text(yaml.safe_dump({"version": 1, "variants": [entry | {"labels": ["cat", "dog", "eel"]}]}))
    done = evaluate(*common)
    assert done.exit_code == 0, done.output
    assert load_catalogue(catalogue).variant("m").accuracy == 1.0
