"""Reading texts and labels, and what is said of files that are wrong."""

from pathlib import Path

import pytest

from catalog.errors import ConfigError
from catalog.texts.labelled_texts import read_labelled


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "texts.tsv"


def test_texts_and_labels_come_line_by_line(file: Path) -> None:
    file.write_bytes("a fine film\t1\r\nça, non\t0\n\n".encode())
    read = read_labelled(file)
    assert read.texts == ("a fine film", "ça, non")
    assert read.labels == ("1", "0")
    assert read.classes(("0", "1"), file).tolist() == [1, 0]


def test_a_byte_order_mark_is_no_part_of_the_first_text(file: Path) -> None:
    file.write_text("fine\t1\ndull\t0\n", encoding="utf-8-sig")
    assert read_labelled(file).texts == ("fine", "dull")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("fine\t1\nno label here\n", r"line 2: 'no label here'; write a text, one tab and a label"),
        ("a\tb\t1\n", r"line 1: 'a\\tb\\t1'; write a text, one tab"),
        ("\t1\n", r"line 1: '\\t1'; write a text"),
        ("fine\t \n", "line 1"),
        ("\n \n", "has no lines; write a text, a tab and a label"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_shown(file: Path, content: str, words: str) -> None:
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_labelled(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*missing\.tsv"):
        read_labelled(tmp_path / "missing.tsv")
    (tmp_path / "latin.tsv").write_bytes("ça\t1".encode("latin-1"))
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_labelled(tmp_path / "latin.tsv")


def test_an_unknown_label_is_named_with_the_known_ones(file: Path) -> None:
    file.write_text("fine\t1\nodd\t7\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: label '7' is unknown; use one of 0, 1"):
        read_labelled(file).classes(("0", "1"), file)
