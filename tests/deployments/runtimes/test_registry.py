"""Names of runtimes, and libraries that stay unimported until they are needed."""

import subprocess
import sys
from dataclasses import replace

import pytest

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create, register

VARIANT = Variant(
    name="v",
    task="t",
    runtime="onnx",
    artifact=Artifact("v.bin"),
    accuracy=0.5,
    inputs=(TensorSpec("x", "FP32", (-1, 4)),),
    outputs=(TensorSpec("y", "FP32", (-1, 4)),),
)


def test_an_unknown_runtime_is_refused_with_the_known_names(tmp_path):
    with pytest.raises(
        ConfigError, match=r"'v': no runtime 'onxx'; use one of emulated, onnx, python, text, torch, transformers"
    ):
        create(replace(VARIANT, runtime="onxx"), tmp_path / "v.bin", RuntimeOptions())


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="runtime 'torch' is registered already"):
        register("torch")(lambda variant, artifact, options: None)


def test_only_the_library_of_the_created_runtime_is_imported():
    """In a fresh interpreter, since this one may have imported them for other tests."""
    program = """
import sys
from pathlib import Path
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create
heavy = {"torch", "transformers", "onnxruntime", "ray"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
tensor = TensorSpec("x", "FP32", (-1, 4))
variant = Variant("v", "t", "onnx", Artifact("v.onnx"), 0.5, (tensor,), (tensor,))
create(variant, Path("v.onnx"), RuntimeOptions())
assert heavy & set(sys.modules) == {"onnxruntime"}, heavy & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
