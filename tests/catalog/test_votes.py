"""Recorded votes as files: what is read back, and what is said of a file that cannot be used."""

from pathlib import Path

import numpy as np
import pytest

from catalog.errors import ConfigError
from catalog.votes import MAX_CLASSES, RecordedVotes, read_votes, write_votes

GOOD = "split,label,a,b\ndev,0,0,1\ndev,2,2,2\ntest,1,1,0\n"


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def recorded() -> RecordedVotes:
    return RecordedVotes(("a", "b"), np.array([0, 1, 1, 0]), np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), 2)


def test_votes_are_read_by_split(tmp_path: Path) -> None:
    votes = read_votes(file(tmp_path, GOOD))
    assert list(votes) == ["dev", "test"]
    assert votes["dev"].members == ("a", "b")
    assert votes["dev"].labels.tolist() == [0, 2]
    assert votes["dev"].predictions.tolist() == [[0, 1], [2, 2]]
    assert votes["test"].rows == 1
    assert {each.classes for each in votes.values()} == {3}, "of both splits together"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_votes(tmp_path / "votes.csv", {"dev": recorded(), "test": recorded().take(np.array([2]))})
    back = read_votes(tmp_path / "votes.csv")
    assert back["dev"].predictions.tolist() == recorded().predictions.tolist()
    assert back["dev"].labels.tolist() == recorded().labels.tolist()
    assert back["test"].labels.tolist() == [1]
    assert back["dev"].classes == 2


def test_columns_come_in_any_order_and_a_spreadsheets_mark_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    votes = read_votes(file(tmp_path, "\ufeffb,label,split,a\n\n1,0,dev,0\n\n"))
    assert votes["dev"].members == ("b", "a")
    assert votes["dev"].predictions.tolist() == [[1, 0]]


def test_a_vote_is_among_two_classes_at_least(tmp_path: Path) -> None:
    assert read_votes(file(tmp_path, "split,label,a\ndev,0,0\n"))["dev"].classes == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column split and label; the header is ''"),
        ("label,a\n0,0\n", "no column split; the header is 'label,a'"),
        ("split,a\ndev,0\n", "no column label"),
        ("split,label\ndev,0\n", "no member; add one column of predicted classes per member"),
        ("split,label,a,a\ndev,0,0,0\n", "columns must be unique"),
        ("split,label,label,a\ndev,0,0,0\n", "columns must be unique"),
        ("split,label,a,\ndev,0,0,0\n", "a member has no name"),
        ("split,label,a\n", "have no rows; record some"),
        ("split,label,a\ndev,0\n", "line 2: 2 values; the header has 3 columns"),
        ("split,label,a\ndev,0,0,0\n", "line 2: 4 values; the header has 3 columns"),
        ("split,label,a\ntrain,0,0\n", "line 2: split 'train' is unknown; use dev or test"),
        ("split,label,a\ndev,x,0\n", "line 2: label is 'x'; classes are whole numbers from 0"),
        ("split,label,a\ndev,0,-1\n", "line 2: a is '-1'; classes are whole numbers from 0"),
        ("split,label,a\ndev,0,1.5\n", "line 2: a is '1.5'"),
        ("split,label,a\ndev,0,\n", "line 2: a is ''"),
        (f"split,label,a\ndev,0,{MAX_CLASSES}\n", f"classes are whole numbers from 0 to {MAX_CLASSES - 1}"),
        (f"split,label,a\ndev,{10**30},0\n", "line 2: label is '1000"),
        ("split,label,a\n\n\ndev,0,0\n\ndev,0,oops\n", "line 6: a is 'oops'"),
        (f"split,label,a\ndev,0,{'7' * 200_000}\n", "cannot read votes .*field larger than field limit"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_place_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as refused:
        read_votes(path)
    assert str(path) in str(refused.value)


def test_no_file_and_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read votes .*none\.csv.*give a CSV of split, label and members"):
        read_votes(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"split,label,a\n\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot read votes"):
        read_votes(tmp_path / "binary.csv")


def test_members_and_rows_can_be_taken() -> None:
    votes = recorded()
    assert votes.of(["b"]).predictions.tolist() == [[0], [0], [1], [1]]
    assert votes.of(["b", "a"]).members == ("b", "a")
    assert votes.take(np.array([3, 0])).labels.tolist() == [0, 0]
    assert votes.take(np.array([3, 0])).predictions.tolist() == [[0, 1], [0, 0]]
    with pytest.raises(KeyError):
        votes.of(["z"])


def test_accuracies_are_shares_of_rows() -> None:
    assert recorded().accuracies == {"a": 1.0, "b": 0.5}


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="expected rows x members"):
        RecordedVotes(("a",), np.array([0, 1]), np.array([[0, 1]]), 2)
