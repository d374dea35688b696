"""Files of measured accuracies of whole pipelines."""

from pathlib import Path

import pytest

from catalog.errors import ConfigError
from catalog.measured_accuracy import read_measured_accuracy

STAGES = ("find", "read")
KNOWN = {"find": {"small", "large"}, "read": {"cnn"}}


def written(folder: Path, content: str) -> Path:
    path = folder / "accuracies.csv"
    path.write_text(content, encoding="utf-8")
    return path


def test_accuracies_are_by_the_variants_in_the_order_of_the_stages(tmp_path: Path) -> None:
    path = written(tmp_path, "read,accuracy,find\ncnn,0.9,small\ncnn,0.95,large\n")
    assert read_measured_accuracy(path, STAGES, KNOWN) == {("small", "cnn"): 0.9, ("large", "cnn"): 0.95}


def test_rows_of_variants_that_are_not_served_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "find,read,accuracy\nsmall,cnn,0.9\nhuge,cnn,0.99\n")
    assert read_measured_accuracy(path, STAGES, KNOWN) == {("small", "cnn"): 0.9}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("find,accuracy\nsmall,0.9\n", "no column 'read'"),
        ("find,reed,accuracy\nsmall,cnn,0.9\n", r"no column 'read' \(did you mean 'reed'\?\)"),
        ("find,read,accuracy\nsmall,cnn,90\n", "line 2: accuracy is '90'; give a number from 0 to 1"),
        ("find,read,accuracy\nsmall,cnn,nan\n", "line 2: accuracy is 'nan'; give a number from 0 to 1"),
        ("find,read,accuracy\nsmall,cnn\n", "line 2: accuracy is None; give a number from 0 to 1"),
        ("find,read,accuracy\nsmall,cnn,0.9\nsmall,cnn,0.8\n", "line 3: small, cnn is there twice; give it once"),
        ("find,read,accuracy\nhuge,cnn,0.9\n", "no row is of variants that are served; stage find has large, small"),
        ("", "no column 'find'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line_and_the_value(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_measured_accuracy(written(tmp_path, content), STAGES, KNOWN)


def test_a_missing_file_is_refused_with_the_columns_that_it_should_have(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"give a CSV with the columns find, read and accuracy"):
        read_measured_accuracy(tmp_path / "none.csv", STAGES, KNOWN)
