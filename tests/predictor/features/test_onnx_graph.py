from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from catalog.errors import ArtifactError
from predictor.features.onnx_graph import DEFAULT_LENGTH, architecture_of, artifact_architecture


def weights(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(shape, np.float32), name)


def model(nodes: list[onnx.NodeProto], given: list[int | str], *constants: onnx.TensorProto) -> onnx.ModelProto:
    """From `x`, of the shape given, to `y`."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.fixture
def small() -> onnx.ModelProto:
    """Convolution of 3 channels of 8 x 8 to 4 channels of 6 x 6, Relu, the same flattened, 10 classes, softmax."""
    return model(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3]),
            helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Flatten", ["r"], ["f"]),
            helper.make_node("Gemm", ["f", "v", "d"], ["g"], transB=1),
            helper.make_node("Softmax", ["g"], ["y"]),
        ],
        ["batch", 3, 8, 8],
        weights("w", 4, 3, 3, 3),
        weights("b", 4),
        weights("v", 10, 144),
        weights("d", 10),
    )


def test_features_of_a_small_network_are_those_counted_by_hand(small: onnx.ModelProto) -> None:
    found = architecture_of(small)
    kinds = {name: found[f"arch_{name}_nodes"] for name in ("conv", "matmul", "attention", "elementwise", "reshape")}
    assert kinds == {"conv": 1, "matmul": 1, "attention": 1, "elementwise": 1, "reshape": 1}
    assert found["arch_normalisation_nodes"] == found["arch_recurrent_nodes"] == found["arch_other_nodes"] == 0
    assert found["arch_nodes"] == found["arch_depth"] == 5
    parameters = 4 * 27 + 4 + 1440 + 10
    assert found["arch_parameters"] == parameters
    assert found["arch_parameter_bytes"] == 4 * parameters
    conv = 4 * 36 * (2 * 27 + 1)
    flops = conv + 144 + 10 * (2 * 144 + 1) + 5 * 10
    assert found["arch_flops_per_row"] == flops
    written = 4 * (144 + 144 + 144 + 10 + 10)
    assert found["arch_activation_bytes_per_row"] == written
    assert found["arch_largest_activation_bytes_per_row"] == 4 * 144
    assert found["arch_flops_per_byte"] == pytest.approx(flops / (4 * parameters + 2 * written))


def test_more_rows_share_the_weights_and_nothing_else(small: onnx.ModelProto) -> None:
    one, many = architecture_of(small), architecture_of(small, rows=16)
    moved = one["arch_parameter_bytes"] + 16 * 2 * one["arch_activation_bytes_per_row"]
    assert many["arch_flops_per_byte"] == pytest.approx(16 * one["arch_flops_per_row"] / moved)
    assert {name for name in one if many[name] != one[name]} == {"arch_flops_per_byte"}


def test_the_model_that_was_given_is_left_as_it_was(small: onnx.ModelProto) -> None:
    before = small.SerializeToString()
    architecture_of(small, rows=4)
    assert small.SerializeToString() == before


def test_open_dimensions_other_than_the_batch_have_the_default_length() -> None:
    attention = model(
        [
            helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["x", "t"], ["s"]),
            helper.make_node("Softmax", ["s"], ["p"]),
            helper.make_node("MatMul", ["p", "x"], ["m"]),
            helper.make_node("Add", ["m", "x"], ["y"]),
        ],
        ["batch", "length", 32],
    )
    found = architecture_of(attention)
    square = DEFAULT_LENGTH**2
    assert found["arch_flops_per_row"] == 2 * square * 32 + 5 * square + 2 * square * 32 + DEFAULT_LENGTH * 32
    assert found["arch_depth"] == 5
    assert found["arch_parameters"] == 0


def test_depth_is_that_of_the_longest_path() -> None:
    forked = model(
        [
            helper.make_node("Relu", ["x"], ["a"]),
            helper.make_node("Tanh", ["a"], ["b"]),
            helper.make_node("Sigmoid", ["x"], ["c"]),
            helper.make_node("Add", ["b", "c"], ["y"]),
        ],
        ["batch", 7],
    )
    assert architecture_of(forked)["arch_nodes"] == 4
    assert architecture_of(forked)["arch_depth"] == 3


@pytest.mark.parametrize(
    ("node", "given", "constants", "flops"),
    [
        (helper.make_node("Conv", ["x", "w"], ["y"], group=4), [1, 4, 5, 5], [(4, 1, 3, 3)], 2 * 4 * 9 * 9),
        (helper.make_node("ConvTranspose", ["x", "w"], ["y"]), [1, 3, 5], [(3, 2, 4)], 2 * 3 * 5 * 2 * 4),
        (helper.make_node("MatMul", ["x", "w"], ["y"]), [1, 6, 7], [(7, 8)], 2 * 6 * 7 * 8),
        (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2]), [1, 3, 4, 4], [], 3 * 4 * 4),
        (helper.make_node("GlobalAveragePool", ["x"], ["y"]), [1, 3, 4, 4], [], 48),
        (helper.make_node("LayerNormalization", ["x", "w"], ["y"]), [1, 6], [(6,)], 30),
        (
            helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=5),
            [1, 2, 3],
            [(1, 20, 3), (1, 20, 5)],
            2 * 1 * 2 * 4 * 5 * (3 + 5),
        ),
        (helper.make_node("Identity", ["x"], ["y"]), [1, 9], [], 0),
    ],
    ids=lambda value: value.op_type if isinstance(value, onnx.NodeProto) else "",
)
def test_arithmetic_of_one_node(
    node: onnx.NodeProto, given: list[int | str], constants: list[tuple[int, ...]], flops: int
) -> None:
    named = [weights(name, *shape) for name, shape in zip("wr", constants, strict=False)]
    assert architecture_of(model([node], given, *named))["arch_flops_per_row"] == flops


def test_an_artifact_has_the_features_of_its_graph_and_its_size(tmp_path: Path, small: onnx.ModelProto) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    onnx.save(small, folder / "model.onnx")
    (folder / "tokenizer.json").write_text("{}")
    size = (folder / "model.onnx").stat().st_size
    graph = architecture_of(small)
    assert artifact_architecture(folder / "model.onnx") == graph | {"arch_artifact_bytes": size}
    assert artifact_architecture(folder) == graph | {"arch_artifact_bytes": size + 2}


def test_of_an_artifact_without_a_graph_the_size_is_known(tmp_path: Path) -> None:
    file = tmp_path / "model.pt"
    file.write_bytes(b"12345")
    assert artifact_architecture(file) == {"arch_artifact_bytes": 5}


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "broken.onnx"
    file.write_bytes(b"no graph at all")
    with pytest.raises(ArtifactError, match=r"cannot read ONNX file .*broken\.onnx"):
        architecture_of(file)
    with pytest.raises(ArtifactError, match="no model file at"):
        artifact_architecture(tmp_path / "gone")
