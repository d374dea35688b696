"""Arrays of a file as inputs of an endpoint."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from serve_app.loadgen.npz_file import read_npz

X = TensorSpec("x", "FP32", (-1, 2))
IDS, MASK = TensorSpec("ids", "INT64", (-1, -1)), TensorSpec("mask", "INT64", (-1, -1))


def file(folder: Path, **arrays: Any) -> Path:
    path = folder / "set.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("inputs", [(), (X,)])
def test_label_goes_before_labels_and_neither_is_an_input(tmp_path: Path, inputs: tuple[TensorSpec, ...]) -> None:
    arrays, labels = read_npz(file(tmp_path, x=np.zeros((2, 2)), labels=[7, 8], label=[3, 4]), inputs)
    assert list(arrays) == ["x"]
    assert labels is not None
    assert labels.tolist() == [3, 4]


def test_an_input_of_that_name_is_no_truth(tmp_path: Path) -> None:
    label = TensorSpec("label", "INT64", (-1,))
    arrays, labels = read_npz(file(tmp_path, label=np.array([1, 2]), labels=[7, 8]), (label,))
    assert arrays["label"].tolist() == [1, 2]
    assert labels is not None
    assert labels.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("spec", "given", "expected"),
    [
        (X, np.array([[0.1, 1.0]]), np.array([[0.1, 1.0]], np.float32)),
        (X, np.array([[1, 2]]), np.array([[1, 2]], np.float32)),
        (TensorSpec("x", "UINT8", (-1, 2)), np.array([[1.0, 255.0]]), np.array([[1, 255]], np.uint8)),
        (TensorSpec("x", "FP32", (-1, 2, 1)), np.ones((1, 2)), np.ones((1, 2, 1), np.float32)),
        (TensorSpec("x", "BYTES", (-1,)), np.array([b"a"]), np.array(["a"], object)),
    ],
)
def test_an_array_is_cast_to_what_the_endpoint_takes(
    tmp_path: Path, spec: TensorSpec, given: np.ndarray, expected: np.ndarray
) -> None:
    arrays, labels = read_npz(file(tmp_path, x=given, other=np.zeros(9)), (spec,))
    assert arrays["x"].dtype == expected.dtype
    np.testing.assert_array_equal(arrays["x"], expected)
    assert labels is None


@pytest.mark.parametrize(
    ("spec", "given", "message"),
    [
        (TensorSpec("x", "UINT8", (-1,)), np.array([256]), "256 does not fit UINT8"),
        (TensorSpec("x", "INT64", (-1,)), np.array([0.5]), "0.5 does not fit INT64"),
        (X, np.array([["a", "b"]]), "does not fit FP32"),
        (X, np.zeros((1, 3)), r"is \[1, 3\]; input 'x' is \[-1, 2\]"),
        (X, np.float32(1), "same number of items"),
    ],
)
def test_what_would_be_lost_is_refused(tmp_path: Path, spec: TensorSpec, given: np.ndarray, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_npz(file(tmp_path, x=given), (spec,))


def test_of_inputs_of_any_length_one_may_be_a_mask_that_is_left_out(tmp_path: Path) -> None:
    path = file(tmp_path, ids=np.ones((2, 5), np.int32), label=[0, 1])
    assert list(read_npz(path, (IDS, MASK))[0]) == ["ids"]
    with pytest.raises(ConfigError, match=r"no array 'x'; the endpoint takes it as FP32 \[-1, 2\], .* has ids"):
        read_npz(path, (IDS, MASK, X))
