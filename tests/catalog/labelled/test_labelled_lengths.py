"""Labelled rows of any length, padded and masked as the router does it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from length_scene import LONGEST, PADDING
from length_scene import variant as spans

from catalog.errors import ConfigError
from catalog.labelled.labelled_data import read_data
from catalog.lengths import Lengths
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant

PAIRS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
RAGGED = [[1.0], [2.0, 3.0, 4.0], [5.0, 6.0]]
MASKS = [[1, 0, 0], [1, 1, 1], [1, 1, 0]]


def test_rows_of_different_lengths_are_padded_and_masked_as_the_router_does(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"ids": RAGGED, "label": [0.0] * 3}), tmp_path / "d.parquet")
    rows = "\n".join(f'"{row}",0' for row in RAGGED)
    (tmp_path / "d.csv").write_text(f"tokens,label\n{rows}\n")
    for name in ("d.parquet", "d.csv"):
        inputs = read_data(str(tmp_path / name), spans()).inputs
        assert inputs["ids"].tolist() == [[1, PADDING, PADDING], [2, 3, 4], [5, 6, PADDING]]
        assert inputs["mask"].tolist() == MASKS
        assert {array.dtype for array in inputs.values()} == {np.dtype(np.float32)}
        assert read_data(str(tmp_path / name), spans(masked=False)).inputs.keys() == {"ids"}


def test_a_mask_of_the_data_is_taken_and_padded_with_zeros(tmp_path: Path) -> None:
    own = [[0], [1, 0, 1], [1, 1]]
    path = str(tmp_path / "d.parquet")
    parquet.write_table(pa.table({"ids": RAGGED, "mask": own, "label": [0] * 3}), path)
    assert read_data(path, spans()).inputs["mask"].tolist() == [[0, 0, 0], [1, 0, 1], [1, 1, 0]]
    parquet.write_table(pa.table({"tokens": RAGGED, "mask": own, "label": [0] * 3}), path)
    assert read_data(path, spans()).inputs["mask"].tolist()[1] == [1, 0, 1], "ids are the only other column"
    with pytest.raises(ConfigError, match="no column 'kept' for input 'mask'"):
        read_data(path, spans(), columns={"mask": "kept", "ids": "tokens"})


def test_arrays_of_any_length_are_taken_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", ids=np.array(PAIRS), label=np.zeros(3))
    inputs = read_data(str(tmp_path / "d.npz"), spans()).inputs
    assert (inputs["ids"].tolist(), inputs["mask"].tolist()) == (PAIRS, [[1, 1]] * 3)


def test_axes_beside_the_length_and_texts_are_padded_too(tmp_path: Path) -> None:
    tensors = (TensorSpec("frames", "INT32", (-1, -1, 2)), TensorSpec("words", "BYTES", (-1, -1)))
    outputs = (TensorSpec("label", "INT64", (-1,)),)
    of = Variant("v", "t", "onnx", Artifact("v.onnx"), 0.5, tensors, outputs, lengths=Lengths(longest=4))
    table = pa.table({"frames": [[[1, 2]], [[3, 4], [5, 6]]], "words": [["a", "b"], ["c"]], "label": [0, 1]})
    parquet.write_table(table, tmp_path / "d.parquet")
    inputs = read_data(str(tmp_path / "d.parquet"), of).inputs
    assert inputs["frames"].tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]
    assert inputs["words"].tolist() == [["a", "b"], ["c", ""]]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"ids": [[1.0], []]}, f"row 2: input 'ids' has length 0 on axis 1; send 1 to {LONGEST}"),
        ({"ids": [[1.0], [0.0] * (LONGEST + 1)]}, f"row 2: input 'ids' has length {LONGEST + 1} on axis 1"),
        ({"ids": [[1.0], [1.0, 2.0]], "mask": [[1], [1]]}, "row 2: input 'mask' has length 1, and 'ids' has 2"),
        ({"ids": [[1.0], None]}, "row 2, column 'ids': not one FP32"),
        ({"ids": [1.0, 2.0]}, r"row 1, column 'ids' is \[1\]; input 'ids' is \[-1, -1\]"),
    ],
)
def test_rows_that_the_service_would_refuse_are_named(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    parquet.write_table(pa.table(columns | {"label": [0, 1]}), tmp_path / "d.parquet")
    with pytest.raises(ConfigError, match=words):
        read_data(str(tmp_path / "d.parquet"), spans())


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("ids,label\n")
    with pytest.raises(ConfigError, match="has no rows; give at least one"):
        read_data(str(tmp_path / "d.csv"), spans())
