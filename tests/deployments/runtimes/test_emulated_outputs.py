"""Outputs of an emulated variant that are recorded for certain inputs."""

from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.emulated_outputs import EmulatedOutputs, read_recorded

VARIANT = Variant(
    name="slow",
    task="t",
    runtime="emulated",
    artifact=Artifact("profiles.csv"),
    accuracy=0.9,
    inputs=(TensorSpec("x", "FP32", (-1, 2)),),
    outputs=(TensorSpec("y", "INT64", (-1,)), TensorSpec("label", "BYTES", (-1,))),
)
X = np.array([[0, 1], [2, 3], [4, 5]], dtype=np.float32)
Y = np.array([7, 8, 9])
LABELS = np.array(["a", "b", "c"])


def recorded(folder: Path, **changes: np.ndarray) -> EmulatedOutputs:  # type: ignore[type-arg]
    arrays = {"x": X, "y": Y, "label": LABELS, **changes}
    np.savez(folder / "recorded.npz", **arrays)  # type: ignore[arg-type]
    return EmulatedOutputs(VARIANT, read_recorded(VARIANT, folder / "recorded.npz"))


def test_a_row_gets_what_is_recorded_for_the_same_inputs_in_any_order_and_batch(tmp_path: Path) -> None:
    outputs = recorded(tmp_path)
    assert outputs.rows({"x": X[[2, 0, 2]]})["y"].tolist() == [9, 7, 9]
    assert outputs.rows({"x": X[[1]]})["label"].tolist() == ["b"]


def test_inputs_that_are_not_recorded_give_zeros(tmp_path: Path) -> None:
    found = recorded(tmp_path).rows({"x": np.array([[9, 9], [2, 3]], dtype=np.float32)})
    assert found["y"].tolist() == [0, 8]
    assert found["label"].tolist() == ["", "b"]


def test_inputs_are_compared_in_the_type_that_the_variant_takes_and_minus_zero_is_zero(tmp_path: Path) -> None:
    outputs = recorded(tmp_path, x=X.astype(np.float64))
    assert outputs.rows({"x": np.array([[-0.0, 1]], dtype=np.float32)})["y"].tolist() == [7]


def test_without_inputs_rows_are_given_round_and_round(tmp_path: Path) -> None:
    np.savez(tmp_path / "recorded.npz", y=Y, label=LABELS)
    outputs = EmulatedOutputs(VARIANT, read_recorded(VARIANT, tmp_path / "recorded.npz"))
    assert [outputs.rows({"x": X[:2]})["y"].tolist() for _ in range(2)] == [[7, 8], [9, 7]]


def test_inputs_of_another_number_of_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give every output the same number of rows"):
        recorded(tmp_path, x=X[:2])


def test_texts_are_inputs_as_numbers_are(tmp_path: Path) -> None:
    texts = Variant(
        "slow", "t", "emulated", Artifact("p.csv"), 0.9, (TensorSpec("text", "BYTES", (-1,)),), VARIANT.outputs[:1]
    )
    np.savez(tmp_path / "recorded.npz", text=np.array(["caf\u00e9", "ab", "a"]), y=Y)
    outputs = EmulatedOutputs(texts, read_recorded(texts, tmp_path / "recorded.npz"))
    asked = np.array(["a", "caf\u00e9", "unheard", "ab"], dtype=object)
    assert outputs.rows({"text": asked})["y"].tolist() == [9, 7, 0, 8]
