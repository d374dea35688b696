"""Labelled data from every kind of file."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from catalog.errors import ConfigError
from catalog.labelled.labelled_data import read_data
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant


def variant(*inputs: TensorSpec, labels: tuple[str, ...] = ("no", "yes")) -> Variant:
    outputs = (TensorSpec("label", "INT64", (-1,)),)
    return Variant(
        "v", "t", "onnx", Artifact("v.onnx"), 0.5, inputs or (TensorSpec("x", "FP32", (-1, 2)),), outputs, labels
    )


PAIRS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
TEXTS = variant(TensorSpec("text", "BYTES", (-1,)))


def classes(data: Any, of: Variant | None = None) -> list[int]:
    return data.classes(of or variant(), 2).tolist()


@pytest.mark.parametrize("label", ["label", "labels"])
def test_an_npz_has_arrays_named_as_the_inputs(tmp_path: Path, label: str) -> None:
    np.savez(tmp_path / "d.npz", x=np.array(PAIRS), **{label: np.array([0, 1, 1])})
    data = read_data(str(tmp_path / "d.npz"), variant())
    assert data.inputs["x"].dtype == np.float32
    assert data.inputs["x"].tolist() == PAIRS
    assert classes(data) == [0, 1, 1]
    assert data.first(2).rows == 2
    assert data.first(2).key != data.key


def test_a_csv_has_values_texts_and_lists_in_json(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('x,age,word,label\n"[1, 2]",30,a,yes\n"[3, 4]",40,"b, c",no\n')
    of = variant(
        TensorSpec("x", "FP32", (-1, 2)), TensorSpec("age", "INT64", (-1,)), TensorSpec("word", "BYTES", (-1,))
    )
    data = read_data(str(path), of)
    assert data.inputs["x"].tolist() == PAIRS[:2]
    assert data.inputs["age"].tolist() == [30, 40]
    assert data.inputs["word"].tolist() == ["a", "b, c"]
    assert classes(data) == [1, 0]


def test_columns_of_other_names_are_said_or_guessed_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("sentence,truth\nfine,1\ndull,0\n")
    with pytest.raises(ConfigError, match="no column 'label' with the truth; it has sentence, truth"):
        read_data(str(path), TEXTS)
    assert read_data(str(path), TEXTS, "truth").inputs["text"].tolist() == ["fine", "dull"]
    assert read_data(str(path), TEXTS, "truth", {"text": "sentence"}).rows == 2
    with pytest.raises(ConfigError, match="no such input"):
        read_data(str(path), TEXTS, "truth", {"words": "sentence"})


def test_the_key_is_that_of_the_inputs_whatever_they_are_called(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("title,body,label,stars\nab,a,1,0\nc,bc,0,1\n")
    title, body = (read_data(str(path), TEXTS, columns={"text": column}) for column in ("title", "body"))
    assert title.key != body.key, "though together the texts are the same"
    assert read_data(str(path), TEXTS, "stars", {"text": "title"}).key == title.key
    (tmp_path / "d.tsv").write_text("ab\tyes\nc\tno\n")
    assert read_data(str(tmp_path / "d.tsv"), TEXTS).key == title.key
    path.write_text("x,label\n1,0\n2,1\n")
    numbers = [read_data(str(path), variant(TensorSpec("x", kind, (-1,)))) for kind in ("FP16", "FP32")]
    path.write_text("x,label\n2,0\n1,1\n")
    numbers += [read_data(str(path), variant(TensorSpec("x", "FP16", (-1,))))]
    assert len({each.key for each in numbers}) == 3


def test_parquet_has_lists_per_cell(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table({"x": PAIRS, "label": ["no", "yes", "no"]}), path)
    data = read_data(str(path), variant())
    assert data.inputs["x"].tolist() == PAIRS
    assert classes(data) == [0, 1, 0]


def test_a_hugging_face_folder_is_read_and_its_label_names_are_those_of_the_task(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    for number, rows in enumerate(([0, 1], [2])):
        table = pa.table({"text": [f"text {row}" for row in rows], "label": [row % 2 for row in rows]})
        path = str(folder / f"data-0000{number}-of-00002.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    names = {"features": {"label": {"names": ["yes", "no"], "_type": "ClassLabel"}}}
    (folder / "dataset_info.json").write_bytes(orjson.dumps(names))
    data = read_data(str(folder), TEXTS)
    assert data.inputs["text"].tolist() == ["text 0", "text 1", "text 2"]
    assert classes(data, TEXTS) == [1, 0, 1], "the data set calls 0 yes, which is class 1 here"
    above = read_data(str(tmp_path), TEXTS)
    assert above.rows == 3, "a folder with one data set in it stands for that"
    (tmp_path / "other").mkdir()
    parquet.write_table(pa.table({"text": ["t"], "label": [1]}), tmp_path / "other" / "train-00000-of-00001.parquet")
    with pytest.raises(ConfigError, match="holds other, saved; give one of these folders"):
        read_data(str(tmp_path), TEXTS)


@pytest.mark.parametrize("content", [b'{"features": ', b"[]", b'{"features": [1]}'])
def test_a_damaged_description_of_a_data_set_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dataset_info.json").write_bytes(content)
    parquet.write_table(pa.table({"text": ["a"], "label": [0]}), tmp_path / "d.parquet")
    with pytest.raises(ConfigError, match=r"cannot read .*dataset_info.json: .*; restore or remove it"):
        read_data(str(tmp_path / "d.parquet"), TEXTS)


@pytest.mark.parametrize("beside", [True, False], ids=["dataset_info.json", "schema"])
def test_names_of_classes_are_those_of_the_column_with_the_truth(tmp_path: Path, beside: bool) -> None:
    info = {"features": {name: {"names": ["yes", "no"], "_type": "ClassLabel"} for name in ("label", "sentiment")}}
    info["features"] |= {"gold": {"dtype": "int64", "_type": "Value"}}
    table = pa.table({"text": ["a", "b"], "label": [0, 1], "sentiment": [1, 1], "gold": [0, 1]})
    if beside:
        (tmp_path / "dataset_info.json").write_bytes(orjson.dumps(info))
    else:
        table = table.replace_schema_metadata({"huggingface": orjson.dumps({"info": info})})
    parquet.write_table(table, tmp_path / "d.parquet")
    path = str(tmp_path / "d.parquet")
    assert classes(read_data(path, TEXTS), TEXTS) == [1, 0]
    assert classes(read_data(path, TEXTS, "sentiment"), TEXTS) == [0, 0]
    assert classes(read_data(path, TEXTS, "gold"), TEXTS) == [0, 1], "plain numbers are the catalogue's classes"
    parquet.write_table(table.drop_columns(["label"]), tmp_path / "d.parquet")
    assert classes(read_data(path, TEXTS, "sentiment"), TEXTS) == [0, 0]
    renamed = table.drop_columns(["label"]).rename_columns(["text", "labels", "gold"])
    parquet.write_table(renamed, tmp_path / "d.parquet")
    assert read_data(path, TEXTS).label_names == (), "nothing says what labels are called"


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["Yes", "NO"], [1, 0]), (["positive", "negative"], [0, 1]), (["yes", "unsure"], None), (["Yes", "yes"], None)],
)
def test_names_of_classes_are_found_in_any_case_all_or_none(
    tmp_path: Path, names: list[str], expected: list[int] | None
) -> None:
    info = {"features": {"label": {"names": names, "_type": "ClassLabel"}}}
    (tmp_path / "dataset_info.json").write_bytes(orjson.dumps(info))
    parquet.write_table(pa.table({"text": ["a", "b"], "label": [0, 1]}), tmp_path / "d.parquet")
    data = read_data(str(tmp_path / "d.parquet"), TEXTS)
    if expected is None:
        with pytest.raises(ConfigError, match=f"the data name the classes {', '.join(names)}, and variant 'v' has"):
            classes(data, TEXTS)
    else:
        assert classes(data, TEXTS) == expected


def test_a_cell_of_a_csv_may_hold_an_image(tmp_path: Path) -> None:
    image = np.random.default_rng(3).random((3, 64, 64), dtype=np.float32)
    (tmp_path / "d.csv").write_text(f'image,label\n"{image.tolist()}",1\n')
    limit = csv.field_size_limit()
    data = read_data(str(tmp_path / "d.csv"), variant(TensorSpec("image", "FP32", (-1, 3, 64, 64))))
    assert np.array_equal(data.inputs["image"][0], image)
    assert csv.field_size_limit() == limit


def test_rows_that_nobody_labelled_are_no_class(tmp_path: Path) -> None:
    for label in (-1, 2):
        table = pa.table({"text": ["a", "b"], "label": [0, label]})
        parquet.write_table(table, tmp_path / "d.parquet")
        names = {"features": {"label": {"names": ["yes", "no"], "_type": "ClassLabel"}}}
        (tmp_path / "dataset_info.json").write_bytes(orjson.dumps(names))
        with pytest.raises(ConfigError, match=f"row 2: label {label} is unknown"):
            classes(read_data(str(tmp_path / "d.parquet"), TEXTS), TEXTS)


@pytest.mark.parametrize(
    ("cells", "words"), [(["fine", None], "row 2 has None, which is no text"), ([b"\xff"], "can't decode byte")]
)
def test_cells_that_are_no_texts_are_refused(tmp_path: Path, cells: list[Any], words: str) -> None:
    parquet.write_table(pa.table({"text": cells, "label": [0] * len(cells)}), tmp_path / "d.parquet")
    with pytest.raises(ConfigError, match=f"column 'text': not one BYTES.*{words}"):
        read_data(str(tmp_path / "d.parquet"), TEXTS)


def test_texts_may_come_as_bytes_and_as_lists(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", text=np.array([b"good film", b"dull"]), label=np.array([1, 0]))
    assert read_data(str(tmp_path / "d.npz"), TEXTS).inputs["text"].tolist() == ["good film", "dull"]
    pairs = variant(TensorSpec("pair", "BYTES", (-1, 2)))
    parquet.write_table(pa.table({"pair": [["a", "b"], ["c", "d"]], "label": [0, 1]}), tmp_path / "d.parquet")
    assert read_data(str(tmp_path / "d.parquet"), pairs).inputs["pair"].tolist() == [["a", "b"], ["c", "d"]]
    (tmp_path / "d.csv").write_text('pair,label\n"[""a"", ""b""]",0\n')
    assert read_data(str(tmp_path / "d.csv"), pairs).inputs["pair"].tolist() == [["a", "b"]]
    parquet.write_table(pa.table({"pair": ["ab", "cd"], "label": [0, 1]}), tmp_path / "d.parquet")
    with pytest.raises(ConfigError, match="column 'pair'"):
        read_data(str(tmp_path / "d.parquet"), pairs)


def test_a_tsv_has_texts_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("fine\tyes\ndull\tno\n")
    data = read_data(str(path), TEXTS)
    assert classes(data, TEXTS) == [1, 0]
    with pytest.raises(ConfigError, match="holds texts, and task 't' takes x FP32"):
        read_data(str(path), variant())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "there is no .*none.csv"),
        ("d.xlsx", "?", "is no labelled data that can be read; give a .npz"),
        ("d.npz", "no zip", "cannot read .*d.npz"),
        ("d.parquet", "no table", "cannot read .*d.parquet"),
        ("d.csv", "x,label\n1\n", "line 2: 1 values; the header has 2 columns"),
        ("d.csv", 'x,label\n"[1, 2, 3]",yes\n', r"column 'x' is \[1, 3\]; input 'x' is \[-1, 2\]"),
        ("d.csv", 'x,label\n"[1, 2",yes\n', "column 'x': not one FP32"),
        ("d.csv", 'x,x,label\n"[1, 2]","[3, 4]",yes\n', "several columns 'x'; rename or remove all but one"),
        ("d.csv", "label\nyes\n", "no column 'x' for input 'x'"),
        (
            "d.csv",
            'x,label\n"[1, 2]",maybe\n',
            "row 1: label 'maybe' is unknown; use a number from 0 to 1 or one of no",
        ),
        ("d.csv", 'x,label\n"[1, 2]",7\n', "row 1: label 7 is unknown"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=words):
        classes(read_data(str(tmp_path / name), variant()))


def test_labels_are_one_per_row(tmp_path: Path) -> None:
    path = str(tmp_path / "d.parquet")
    parquet.write_table(pa.table({"x": PAIRS, "tags": [[0, 1], [1], []]}), path)
    with pytest.raises(ConfigError, match="column 'tags': not the same number of labels in each row"):
        read_data(path, variant(), "tags")
    parquet.write_table(pa.table({"x": PAIRS, "tags": [[0, 1], [1, 1], [0, 0]]}), path)
    with pytest.raises(ConfigError, match=r"labels are int64 \[3, 2\]; a class is"):
        classes(read_data(path, variant(), "tags"))
    np.savez(tmp_path / "d.npz", x=np.array(PAIRS), label=np.array(3))
    with pytest.raises(ConfigError, match="array 'label' is one value, 3; give a label per row"):
        read_data(str(tmp_path / "d.npz"), variant())


def test_values_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('x,label,stars,gap\n"[1, 2]",yes,1.5,2\n"[3, 4]",no,2,nan\n')
    assert read_data(str(path), variant(), "stars").values().tolist() == [1.5, 2.0]
    with pytest.raises(ConfigError, match="labels are no numbers: could not convert string to float: 'yes'"):
        read_data(str(path), variant()).values()
    with pytest.raises(ConfigError, match="row 2: label nan is no finite number"):
        read_data(str(path), variant(), "gap").values()


def test_the_built_in_digits_are_labelled() -> None:
    digits = variant(TensorSpec("image", "FP32", (-1, 12, 12)))
    data = read_data("builtin", digits)
    assert data.inputs["image"].shape == (data.rows, 12, 12)
    with pytest.raises(ConfigError, match="is the held-out digits, and task 't' takes other inputs"):
        read_data("builtin", variant())


def test_names_of_classes_that_are_digits_are_names_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text,stars\nfine,2\ndull,1\n")
    stars = variant(TensorSpec("text", "BYTES", (-1,)), labels=("1", "2"))
    assert classes(read_data(str(path), stars, "stars"), stars) == [1, 0]
    path.write_text("text,stars\nfine,1\ndull,0\n")
    assert classes(read_data(str(path), stars, "stars"), stars) == [1, 0], "not all are names: indices"


@pytest.mark.parametrize(
    ("datatype", "values", "fault"),
    [
        ("UINT8", [0.0, 0.9], "0.9 does not fit UINT8"),
        ("UINT8", [1.0, 300.0], "300.0 does not fit UINT8"),
        ("INT8", [-129, 1], "-129 does not fit INT8"),
        ("FP16", [1e6, 1.0], "1000000.0 does not fit FP16"),
        ("FP32", [1.0, float("nan")], "nan does not fit FP32"),
        ("UINT8", [255.0, 0.0], None),
        ("FP32", [0.1, 1e-50], None),
    ],
)
def test_values_that_another_type_would_change_are_refused(
    tmp_path: Path, datatype: str, values: list[float], fault: str | None
) -> None:
    np.savez(tmp_path / "d.npz", x=np.array(values), label=np.array([0, 1]))
    of = variant(TensorSpec("x", datatype, (-1,)))
    if fault is None:
        assert read_data(str(tmp_path / "d.npz"), of).inputs["x"].tolist() == pytest.approx(values)
    else:
        with pytest.raises(ConfigError, match=fault):
            read_data(str(tmp_path / "d.npz"), of)
