"""Models made to read or run what they should not."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from external_weights import model_with_weights_at
from onnx import TensorProto

from catalog.errors import ArtifactError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create

ROWS = (TensorSpec("x", "FP32", (-1, 4)),)
ANSWERS = (TensorSpec("y", "FP32", (-1, 4)),)


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
