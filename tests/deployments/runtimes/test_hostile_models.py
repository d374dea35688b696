"""Models made to read or run what they should not."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from catalog.errors import ArtifactError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create

ROWS = (TensorSpec("x", "FP32", (-1, 4)),)
ANSWERS = (TensorSpec("y", "FP32", (-1, 4)),)


def model_with_weights_at(folder: Path, location: str) -> Path:
    """An ONNX file that adds what lies at ``location`` to its input."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    np.arange(4, dtype=np.float32).tofile(tmp_path / "secret.bin")
    np.arange(4, dtype=np.float32).tofile(made / "weights.bin")
    (made / "link.bin").symlink_to(tmp_path / "secret.bin")
    return made


@pytest.mark.parametrize("location", ["../secret.bin", "./../secret.bin", "{folder}/../secret.bin", "link.bin"])
def test_weights_beside_an_onnx_file_may_not_lie_outside_of_its_folder(folder: Path, location: str) -> None:
    """ONNX Runtime's own check, since 1.24; without it the answers would show any file of the worker's machine."""
    path = model_with_weights_at(folder, location.format(folder=folder))
    variant = Variant("v", "t", "onnx", Artifact(str(path)), 0.5, ROWS, ANSWERS)
    with pytest.raises(ArtifactError, match="External data path"):
        create(variant, path, RuntimeOptions()).load()


def test_weights_in_its_folder_are_fine(folder: Path) -> None:
    path = model_with_weights_at(folder, "weights.bin")
    runtime = create(Variant("v", "t", "onnx", Artifact(str(path)), 0.5, ROWS, ANSWERS), path, RuntimeOptions())
    runtime.load()
    assert runtime.run({"x": np.zeros((1, 4), np.float32)})["y"].tolist() == [[0, 1, 2, 3]]
    assert onnx.load(path, load_external_data=False).graph.initializer[0].data_location == TensorProto.EXTERNAL
