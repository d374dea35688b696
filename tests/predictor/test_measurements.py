"""Files of measurements, the right ones and the wrong ones."""

from pathlib import Path

import pandas as pd
import pytest

from catalog.errors import ConfigError
from predictor.configuration import Configuration
from predictor.measurements import COLUMNS, Measurements, read_measurements
from slowdown_scene import run

ROWS = [
    ("1", "m", "b", 10.0, 15.0),
    ("1", "m", "a", 20.0, 22.0),
    ("2", "m", "a", 20.0, 25.0),
    ("2", "m", "a", 21.0, 26.0),
]


def written(folder: Path, rows: list[tuple[object, ...]], columns: tuple[str, ...] = COLUMNS) -> Path:
    path = folder / "measurements.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n")
    return path


def with_cell(row: int, column: str, value: object) -> list[tuple[object, ...]]:
    rows: list[list[object]] = [list(each) for each in ROWS]
    rows[row][COLUMNS.index(column)] = value
    return [tuple(each) for each in rows]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_of_one_configuration_ran_together_in_the_order_of_the_file(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame(ROWS, columns=COLUMNS).assign(rows=4)
    path = tmp_path / f"measurements.{suffix}"
    if suffix == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    read = read_measurements(path)
    assert [each.configuration for each in read] == [Configuration("m", ("b", "a")), Configuration("m", ("a", "a"))]
    assert read.runs[0].alone_ms == (10.0, 20.0)
    assert read.runs[0].slowdown == (1.5, 1.1)
    assert read.runs[1].together_ms == (25.0, 26.0)
    assert read.slowdown.tolist() == pytest.approx([1.5, 1.1, 1.25, 26 / 21])


def test_rows_of_a_configuration_need_not_follow_one_another(tmp_path: Path) -> None:
    read = read_measurements(written(tmp_path, [ROWS[0], ROWS[2], ROWS[1], ROWS[3]]))
    assert [each.configuration.variants for each in read] == [("b", "a"), ("a", "a")]


def test_names_that_look_like_numbers_stay_as_they_are(tmp_path: Path) -> None:
    (read,) = read_measurements(written(tmp_path, [("01", "7", "010", 1.0, 2.0), ("01", "7", "1.50", 1.0, 2.0)]))
    assert read.configuration == Configuration("7", ("010", "1.50"))


@pytest.mark.parametrize("name", ["NA", "null", "nan", "None"])
def test_names_that_look_like_nothing_are_names(tmp_path: Path, name: str) -> None:
    (read,) = read_measurements(written(tmp_path, [(name, name, name, 1.0, 2.0), (name, name, "a", 1.0, 2.0)]))
    assert read.configuration == Configuration(name, (name, "a"))


@pytest.mark.parametrize("name", ["measurements.pq", "measurements.PARQUET", "measurements.csv", "measurements"])
def test_parquet_is_known_by_what_is_in_it(tmp_path: Path, name: str) -> None:
    pd.DataFrame(ROWS, columns=COLUMNS).to_parquet(tmp_path / name)
    assert len(read_measurements(tmp_path / name)) == 2


def test_a_folder_may_have_several_files_and_no_csv_is_called_parquet(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=COLUMNS)
    table.to_csv(tmp_path / "called.parquet", index=False)
    with pytest.raises(ConfigError, match="cannot read measurements"):
        read_measurements(tmp_path / "called.parquet")
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    for number, rows in enumerate((table[:2], table[2:])):
        rows.to_parquet(folder / f"{number}.parquet")
    assert len(read_measurements(folder)) == 2


def test_blanks_around_names_are_no_part_of_them(tmp_path: Path) -> None:
    (read,) = read_measurements(written(tmp_path, [("1", " m", "a ", 1.0, 2.0), ("1", "m ", " b", 1.0, 2.0)]))
    assert read.configuration == Configuration("m", ("a", "b"))


def test_categories_of_a_parquet_file_are_names(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=COLUMNS)
    table["configuration"] = pd.Categorical(table["configuration"], categories=["0", "1", "2"])
    path = tmp_path / "measurements.parquet"
    table.to_parquet(path)
    assert len(read_measurements(path)) == 2


@pytest.mark.parametrize("column", ["alone_ms", "together_ms"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [("fast", "'fast'"), (0, "0"), (-1.5, "-1.5"), ("", "nan"), ("nan", "nan"), ("inf", "inf")],
)
def test_a_latency_that_is_no_time_above_zero_is_refused(
    tmp_path: Path, column: str, value: object, shown: str
) -> None:
    path = written(tmp_path, with_cell(2, column, value))
    with pytest.raises(ConfigError) as raised:
        read_measurements(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: {column} is {shown}")
    assert message.endswith("in row 3; give a time above 0")
    assert "np." not in message


def test_a_latency_that_parquet_has_as_missing_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=COLUMNS, index=["w", "x", "y", "z"])
    table["alone_ms"] = pd.array([10, 20, None, 21], dtype="Int64")
    path = tmp_path / "measurements.parquet"
    table.to_parquet(path)
    with pytest.raises(ConfigError, match="alone_ms is <NA> in row 3; give a time above 0"):
        read_measurements(path)


@pytest.mark.parametrize("column", ["configuration", "machine", "variant"])
def test_an_empty_name_is_refused(tmp_path: Path, column: str) -> None:
    with pytest.raises(ConfigError, match=f"{column} is empty in row 2; give a name"):
        read_measurements(written(tmp_path, with_cell(1, column, "")))


def test_missing_columns_are_named_with_those_that_are_wanted(tmp_path: Path) -> None:
    path = written(tmp_path, [row[:3] for row in ROWS], COLUMNS[:3])
    with pytest.raises(ConfigError) as raised:
        read_measurements(path)
    assert str(raised.value) == (
        f"{path} has no column alone_ms, together_ms; measurements have the columns {', '.join(COLUMNS)}"
    )


def test_machines_may_number_their_configurations_alike(tmp_path: Path) -> None:
    other = [[*row[:1], "n", *row[2:]] for row in ROWS]
    alone = read_measurements(written(tmp_path, ROWS))
    both = read_measurements(written(tmp_path, [*ROWS, *other]))
    assert both.runs[: len(alone)] == alone.runs
    assert [run.configuration.variants for run in both.runs[len(alone) :]] == [
        run.configuration.variants for run in alone.runs
    ]
    assert {run.configuration.machine for run in both.runs[len(alone) :]} == {"n"}


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x01", b"PAR1 but nothing of it"])
@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        read_measurements(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"cannot read measurements .*{name}: .*; give a Parquet or a CSV file"):
        read_measurements(tmp_path / name)


def test_a_file_without_rows_says_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no measurements; make some with `accord interference measure`"):
        read_measurements(written(tmp_path, []))


def test_repeats_are_found_in_whatever_order_their_variants_are() -> None:
    first, second = run("m", "ba", (1.5, 1.1)), run("m", "ab", (1.2, 1.6))
    elsewhere = run("n", "ab", (1.2, 1.6))
    repeats = Measurements((first, elsewhere, second)).repeats
    assert list(repeats) == [Configuration("m", ("a", "b")), Configuration("n", ("a", "b"))]
    assert [each.slowdown for each in repeats[Configuration("m", ("a", "b"))]] == [(1.1, 1.5), (1.2, 1.6)]


def test_of_equal_variants_those_that_came_first_stay_first() -> None:
    """By their latencies they would be sorted by noise, and what is slow alone would seem to be slowed down less."""
    own = run("m", "bab", (1.2, 1.1, 1.3), (12.0, 5.0, 10.0)).ordered
    assert own.configuration.variants == ("a", "b", "b")
    assert own.alone_ms == (5.0, 12.0, 10.0)
    assert own.slowdown == pytest.approx((1.1, 1.2, 1.3))


def test_only_takes_the_runs_of_the_configurations_in_any_order() -> None:
    runs = (run("m", "ab", 1.1), run("m", "ac", 1.2), run("m", "ba", 1.3), run("n", "ab", 1.4))
    assert Measurements(runs).only([Configuration("m", ("b", "a"))]).runs == (runs[0], runs[2])
    assert len(Measurements(runs).only([])) == 0


def test_machines_are_in_the_order_of_their_names() -> None:
    assert Measurements((run("n", "ab", 1.0), run("m", "ab", 1.0), run("n", "a", 1.0))).machines == ("m", "n")


@pytest.mark.parametrize("times", [2, 3])
def test_a_file_that_was_appended_to_itself_is_refused(tmp_path: Path, times: int) -> None:
    with pytest.raises(
        ConfigError, match=r"'1' of machine type 'm' has the same rows from row 1 and from row 5.*remove"
    ):
        read_measurements(written(tmp_path, ROWS * times))


def test_copies_are_found_in_any_order_and_whenever_they_were_measured(tmp_path: Path) -> None:
    rows = [(*row, "2026-01-01T00:00:00Z") for row in [*ROWS, ROWS[1], ROWS[0]]]
    with pytest.raises(ConfigError, match="from row 1 and from row 5"):
        read_measurements(written(tmp_path, rows, (*COLUMNS, "measured_at")))


@pytest.mark.parametrize(
    "rows",
    [
        ["1a", "1a", "2b", "2b", "2a", "2a"],
        ["1a", "1a", "2a", "1a", "1a", "2b"],
        ["1a", "2a", "1a", "2a", "1b", "2b"],
        ["1a", "1b", "2a", "2b", "1c", "1a"],
    ],
)
def test_variants_that_stand_in_a_configuration_twice_may_take_equally_long(tmp_path: Path, rows: list[str]) -> None:
    """As files have it that round to a tenth of a millisecond, in whatever order."""
    read = read_measurements(written(tmp_path, [(row[0], "m", row[1], 3.0, 3.1) for row in rows]))
    assert sum(each.configuration.degree for each in read) == len(rows)


@pytest.mark.parametrize(("alone_ms", "together_ms"), [(1e-3, 1e308), (1e300, 1e-300), (1.0, 1.1e30)])
def test_slowdowns_that_cannot_be_reckoned_with_are_refused(
    tmp_path: Path, alone_ms: float, together_ms: float
) -> None:
    rows = [ROWS[0], ("1", "m", "a", alone_ms, together_ms)]
    with pytest.raises(
        ConfigError, match=r"together_ms is .* in row 2; give a time from 1e-30 to 1e\+30 times alone_ms"
    ):
        read_measurements(written(tmp_path, rows))
