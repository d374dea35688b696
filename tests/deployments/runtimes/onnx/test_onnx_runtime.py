"""ONNX files made here, run by ONNX Runtime, against numpy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from catalog.errors import ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import RuntimeOptions
from deployments.runtimes.registry import create

WEIGHT = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
VARIANT = Variant(
    name="tiny",
    task="t",
    runtime="onnx",
    artifact=Artifact("tiny.onnx"),
    accuracy=0.5,
    inputs=(TensorSpec("x", "FP32", (-1, 4)),),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("scores", "FP32", (-1, 3))),
)


def save(path, nodes, inputs, outputs, weights=()):
    values = [
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side] for side in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "g", *values, [numpy_helper.from_array(array, name) for name, array in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """Scores x @ WEIGHT, their arg max, and an output that the catalogue does not name."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
        helper.make_node("Neg", ["scores"], ["unused"]),
    ]
    return save(
        tmp_path_factory.mktemp("onnx") / "tiny.onnx",
        nodes,
        [("x", TensorProto.FLOAT, ["n", 4])],
        [
            ("scores", TensorProto.FLOAT, ["n", 3]),
            ("unused", TensorProto.FLOAT, ["n", 3]),
            ("label", TensorProto.INT64, ["n"]),
        ],
        [("w", WEIGHT)],
    )


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(2).normal(size=(7, 4)).astype(np.float32)


@pytest.fixture
def runtime(artifact):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    runtime.load()
    yield runtime
    runtime.unload()


def test_outputs_are_those_of_the_catalogue_and_equal_numpy(runtime, x):
    outputs = runtime.run({"x": x})
    assert set(outputs) == {"label", "scores"}
    np.testing.assert_allclose(outputs["scores"], x @ WEIGHT, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(outputs["label"], (x @ WEIGHT).argmax(1))


def test_a_row_gives_the_same_alone_and_in_a_batch(runtime, x):
    together = runtime.run({"x": x})["scores"]
    for row in range(len(x)):
        np.testing.assert_allclose(runtime.run({"x": x[row : row + 1]})["scores"][0], together[row], rtol=1e-5)


def test_strings_go_in_and_out_as_object_arrays(tmp_path):
    node = helper.make_node("Identity", ["text"], ["same"])
    tensors = [("text", TensorProto.STRING, ["n"])], [("same", TensorProto.STRING, ["n"])]
    variant = replace(
        VARIANT, inputs=(TensorSpec("text", "BYTES", (-1,)),), outputs=(TensorSpec("same", "BYTES", (-1,)),)
    )
    runtime = create(variant, save(tmp_path / "text.onnx", [node], *tensors), RuntimeOptions())
    runtime.load()
    assert runtime.run({"text": np.array(["", "größer", "b"], object)})["same"].tolist() == ["", "größer", "b"]


def test_it_runs_only_between_load_and_unload_and_unloads_twice(artifact, x):
    runtime = create(VARIANT, artifact, RuntimeOptions())
    with pytest.raises(RuntimeError, match=r"'tiny' is not loaded; call load\(\)"):
        runtime.run({"x": x})
    runtime.load()
    runtime.unload()
    runtime.unload()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"x": x})
    runtime.load()
    assert len(runtime.run({"x": x})["label"]) == len(x)


def test_memory_is_at_least_the_file(artifact):
    assert create(VARIANT, artifact, RuntimeOptions()).memory_bytes() >= artifact.stat().st_size > WEIGHT.nbytes


@pytest.mark.parametrize("content", [b"junk" * 30, b""])
def test_a_corrupt_file_is_named_with_the_reason_on_one_line(tmp_path, content):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"'tiny': cannot load broken\.onnx: \[ONNXRuntimeError\]") as raised:
        create(VARIANT, broken, RuntimeOptions()).load()
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_reported_by_load_and_by_memory(tmp_path):
    runtime = create(VARIANT, tmp_path / "none.onnx", RuntimeOptions())
    with pytest.raises(ArtifactError, match=r"cannot load none\.onnx"):
        runtime.load()
    with pytest.raises(ArtifactError, match=r"cannot read artifact .*none\.onnx"):
        runtime.memory_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": (TensorSpec("z", "FP32", (-1, 4)),)}, r"names the inputs z, but tiny\.onnx has x"),
        ({"outputs": (TensorSpec("z", "FP32", (-1, 3)),)}, r"the outputs z, but tiny\.onnx has label, scores, unused"),
        ({"inputs": (TensorSpec("x", "FP64", (-1, 4)),)}, r"trial run on 2 rows .*Actual: \(tensor\(double\)\)"),
        ({"inputs": (TensorSpec("x", "FP32", (-1, 5)),)}, r"trial run on 2 rows of zeros: .*x FP32 .*\[-1, 5\]"),
        (
            {"outputs": (TensorSpec("scores", "FP32", (-1, 4)),)},
            r"should give .*\[-1, 4\].* gives scores float32\[2, 3",
        ),
        ({"outputs": (TensorSpec("label", "INT32", (-1,)),)}, r"should give label INT32 .* gives label int64\[2\]"),
    ],
)
def test_tensors_other_than_the_catalogue_says_are_reported_at_load(artifact, x, change, message):
    runtime = create(replace(VARIANT, **change), artifact, RuntimeOptions())
    with pytest.raises(ArtifactError, match=message):
        runtime.load()
    with pytest.raises(RuntimeError, match="not loaded"):
        runtime.run({"x": x})


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a CUDA device")
def test_cuda_on_a_machine_without_it_is_refused_with_the_remedy(artifact):
    with pytest.raises(ConfigError, match=r"device 'cuda:0' was asked for, but .*set the device to cpu"):
        create(VARIANT, artifact, RuntimeOptions("cuda:0")).load()


def test_options_that_it_would_ignore_are_refused(tmp_path: Path) -> None:
    words = "variant 'tiny': unknown option 'threads'; runtime 'onnx' knows none: remove options"
    with pytest.raises(ConfigError, match=words):
        create(replace(VARIANT, options={"threads": 4}), tmp_path, RuntimeOptions())
