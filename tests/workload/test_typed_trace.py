"""Traces with query types, written by hand."""

import gzip
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from workload.typed_trace import read_typed_trace


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def as_lists(path: Path) -> dict[str, list[float]]:
    return {name: arrivals_s.tolist() for name, arrivals_s in read_typed_trace(path).items()}


def test_each_type_has_its_own_arrivals_in_seconds(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "arrival_ms,query_type\n0,yolo\n250,bert\n250,yolo\n1500, bert\n")
    assert as_lists(path) == {"bert": [0.25, 1.5], "yolo": [0.0, 0.25]}


def test_seconds_gzip_and_other_columns_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"client,query_type,arrival_s\nx,a,0.5\ny,b,0.75\n"))
    assert as_lists(path) == {"a": [0.0], "b": [0.25]}


def test_instants_count_from_the_first_also_where_they_are_of_a_clock(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "arrival_s,query_type\n1795000000.5,b\n1795000001,a\n")
    assert as_lists(path) == {"a": [0.5], "b": [0.0]}


@pytest.mark.parametrize("header", ["arrival_ms,kind", "time_s,query_type", "time_s,load_qps"])
def test_a_trace_without_types_or_instants_is_refused_with_its_columns(tmp_path: Path, header: str) -> None:
    path = write(tmp_path / "t.csv", f"{header}\n1,2\n")
    with pytest.raises(ConfigError, match=f"has columns {header.replace(',', ', ')}; give .* query_type"):
        read_typed_trace(path)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("", "holds no data"),
        ("1,a\nx,a\n", "line 3: 'x,a' has no number in arrival_ms"),
        ("1,a\n-1,a\n", "line 3: arrival_ms is -1"),
        ("2,a\n2,b\n1,a\n", "line 4: arrival_ms goes back in time"),
        ("1,a\n2\n", "line 3: '2' has no query_type"),
        ("1,\n", "line 2: '1,' has no query_type"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, lines: str, complaint: str) -> None:
    path = write(tmp_path / "t.csv", f"arrival_ms,query_type\n{lines}")
    with pytest.raises(ConfigError, match=complaint):
        read_typed_trace(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read trace .*nowhere\.csv"):
        read_typed_trace(tmp_path / "nowhere.csv")
