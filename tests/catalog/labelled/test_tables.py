"""Which files of a folder are one table."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from catalog.errors import ConfigError
from catalog.labelled.labelled_data import read_data
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant

TEXTS = Variant(
    "v",
    "t",
    "onnx",
    Artifact("v.onnx"),
    0.5,
    (TensorSpec("text", "BYTES", (-1,)),),
    (TensorSpec("label", "INT64", (-1,)),),
    ("no", "yes"),
)


@pytest.mark.parametrize(
    "names",
    [
        ("0000", "0001"),
        ("part.0", "part.10"),
        ("data_0", "data_1"),
        ("part-00000-3f2a.c000.snappy", "part-00001-3f2a.c000.snappy"),
        ("train-00000-of-00002-a09b74b3ef9c3b56", "train-00001-of-00002-3d8f7a0cd8a2b3c1"),
        ("my-data-00000-of-00002", "my-data-00001-of-00002"),
    ],
)
def test_the_files_of_one_split_are_one_table(tmp_path: Path, names: tuple[str, ...]) -> None:
    for row, name in enumerate(names):
        parquet.write_table(pa.table({"text": [name], "label": [row]}), tmp_path / f"{name}.parquet")
    data = read_data(str(tmp_path), TEXTS)
    assert (data.inputs["text"].tolist(), data.classes(TEXTS, 2).tolist()) == (list(names), [0, 1])


@pytest.mark.parametrize(
    "names",
    [
        ("test-00000-of-00001", "train-00000-of-00001"),
        ("my-test-00000-of-00001", "my-train-00000-of-00001"),
        ("test", "train"),
        ("test-0", "train-0"),
    ],
)
def test_of_several_splits_one_has_to_be_chosen(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        parquet.write_table(pa.table({"text": ["a"], "label": [0]}), tmp_path / f"{name}.parquet")
    splits = ", ".join(name.removesuffix("-00000-of-00001").removesuffix("-0") for name in names)
    with pytest.raises(ConfigError, match=f"holds the splits {splits}; give the file of one"):
        read_data(str(tmp_path), TEXTS)
