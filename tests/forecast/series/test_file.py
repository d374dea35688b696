import gzip
from pathlib import Path

import fsspec
import numpy as np
import pandas
import pytest

from catalog.errors import AccordError, BadSeries, ConfigError
from forecast.series.file import read_series
from forecast.series.series import Gap

NOON_S = 1_769_860_800
"""2026-01-31 12:00:00 UTC."""


def written(folder: Path, text: str, name: str = "load.csv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_without_times_rows_are_steps_from_midnight_of_day_zero(tmp_path: Path) -> None:
    series, report = read_series(written(tmp_path, "requests_per_s\n5\n6.5\n0\n"), step_s=60)
    assert series.times_s.tolist() == [0, 60, 120]
    assert series.loads_qps.tolist() == [5.0, 6.5, 0.0]
    assert series.step_s == 60
    assert (report.rows, report.steps, report.end_s, report.gaps) == (3, 3, 180, 0)
    assert list(report.lines()) == ["3 steps of 60 s, from day 0 00:00:00 to day 0 00:03:00", "no gaps"]


def test_without_times_the_beginning_may_be_said(tmp_path: Path) -> None:
    series, _ = read_series(written(tmp_path, "requests_per_s\n5\n6\n"), start_s=NOON_S)
    assert series.times_s.tolist() == [NOON_S, NOON_S + 1]


def test_without_times_no_two_rows_with_a_load_need_be_adjacent(tmp_path: Path) -> None:
    series, report = read_series(written(tmp_path, "requests_per_s\n5\n\n6\n\n7\n"))
    assert series.times_s.tolist() == [0, 2, 4]
    assert (series.step_s, report.gaps) == (1, 2)


def test_the_only_column_may_have_any_name(tmp_path: Path) -> None:
    series, _ = read_series(written(tmp_path, " load\n5\n6\n"))
    assert series.loads_qps.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("empty", ["", "NaN", '""'])
def test_cells_without_a_load_are_gaps_and_are_not_filled(tmp_path: Path, empty: str) -> None:
    series, report = read_series(written(tmp_path, f"requests_per_s\n5\n{empty}\n{empty}\n6\n7\n"))
    assert series.times_s.tolist() == [0, 3, 4]
    assert series.gaps == [Gap(1, 2)]
    assert (report.rows, report.steps, report.missing) == (5, 3, 2)
    assert (report.gaps, report.longest_gap_s, report.gaps_s) == (1, 2, 2)
    assert "2 of 5 rows have no load: not observed" in report.lines()
    assert "1 gaps, 2 s in all, the longest 2 s: left out, not filled" in report.lines()


def test_zeros_are_loads_unless_they_are_said_to_be_gaps(tmp_path: Path) -> None:
    where = written(tmp_path, "requests_per_s\n5\n0\n6\n7\n0\n")
    assert read_series(where)[0].loads_qps.tolist() == [5.0, 0.0, 6.0, 7.0, 0.0]
    series, report = read_series(where, zeros_are_gaps=True)
    assert series.times_s.tolist() == [0, 2, 3]
    assert (report.zeros, report.missing, report.gaps, report.end_s) == (2, 0, 1, 4)
    assert "2 rows have a load of 0: taken as not observed" in report.lines()


@pytest.mark.parametrize(
    "times",
    [
        (NOON_S, NOON_S + 1, NOON_S + 4),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:01Z", "2026-01-31T13:00:04+01:00"),
        ("2026-01-31 12:00:00", "2026-01-31 12:00:01.000", "2026-01-31 12:00:04"),
    ],
)
def test_times_are_seconds_of_the_epoch_or_iso_8601_in_utc(tmp_path: Path, times: tuple[object, ...]) -> None:
    rows = "\n".join(f"{at},{load}" for load, at in enumerate(times))
    series, report = read_series(written(tmp_path, f"time,requests_per_s\n{rows}\n"))
    assert series.times_s.tolist() == [NOON_S, NOON_S + 1, NOON_S + 4]
    assert series.loads_qps.tolist() == [0.0, 1.0, 2.0]
    assert next(report.lines()).endswith("from 2026-01-31 12:00:00 UTC to 2026-01-31 12:00:05 UTC")


def test_rows_out_of_order_are_sorted_and_of_those_with_one_time_the_last_stands_and_both_are_told(
    tmp_path: Path,
) -> None:
    text = "time,requests_per_s\n3,30\n1,10\n2,20\n3,31\n1,11\n2,\n"
    series, report = read_series(written(tmp_path, text))
    assert series.times_s.tolist() == [1, 2, 3]
    assert series.loads_qps.tolist() == [11.0, 20.0, 31.0]
    assert (report.rows, report.steps, report.missing) == (6, 3, 1)
    assert (report.duplicates, report.out_of_order) == (2, 3)
    assert "2 rows have the time of a later row, which stands" in report.lines()
    assert "3 rows come after a later time: sorted" in report.lines()


def test_the_report_is_json_values(tmp_path: Path) -> None:
    _, report = read_series(written(tmp_path, "time,requests_per_s\n0,1\n60,2\n180,3\n"), step_s=60)
    assert report.to_record() == {
        "where": str(tmp_path / "load.csv"),
        "rows": 3,
        "steps": 3,
        "step_s": 60,
        "start_s": 0,
        "end_s": 240,
        "missing": 0,
        "zeros": 0,
        "duplicates": 0,
        "out_of_order": 0,
        "gaps": 1,
        "longest_gap_s": 60,
        "gaps_s": 60,
    }


def test_one_of_several_endpoints_is_read(tmp_path: Path) -> None:
    text = "endpoint,time,requests_per_s\ndigits,0,1\nplates,0,7\ndigits,1,2\nplates,1,8\n"
    where = written(tmp_path, text)
    assert read_series(where, endpoint="plates")[0].loads_qps.tolist() == [7.0, 8.0]
    with pytest.raises(ConfigError, match="load of 2 endpoints; choose one of digits, plates"):
        read_series(where)
    blank = written(tmp_path, "endpoint,time,requests_per_s\ndigits,0,1\n\ndigits,1,2\n\n", "blank.csv")
    assert read_series(blank)[0].loads_qps.tolist() == [1.0, 2.0]
    with pytest.raises(ConfigError, match="no endpoint 'x'; it has digits, plates"):
        read_series(where, endpoint="x")
    only = written(tmp_path, "endpoint,requests_per_s\ndigits,1\ndigits,2\n", "one.csv")
    assert len(read_series(only)[0]) == 2
    with pytest.raises(ConfigError, match="has no column endpoint"):
        read_series(written(tmp_path, "requests_per_s\n1\n", "none.csv"), endpoint="digits")


def test_parquet_and_compressed_files_and_urls_are_read_alike(tmp_path: Path) -> None:
    clock = [f"2026-01-31T12:00:0{second}" for second in range(4)]
    loads = [1.0, np.nan, 3.0, 4.0]
    text = pandas.DataFrame({"time": clock, "requests_per_s": loads}).to_csv(index=False)
    expected, told = read_series(written(tmp_path, text))
    (tmp_path / "load.csv.gz").write_bytes(gzip.compress(text.encode()))
    fsspec.filesystem("memory").pipe_file("/histories/load.csv.gz", gzip.compress(text.encode()))
    frame = pandas.DataFrame({"time": pandas.to_datetime(clock), "requests_per_s": loads})
    frame.to_parquet(tmp_path / "columns.parquet")
    frame.set_index("time").to_parquet(tmp_path / "index.parquet")
    for where in ("load.csv.gz", "columns.parquet", "index.parquet"):
        series, report = read_series(str(tmp_path / where))
        assert series.times_s.tolist() == expected.times_s.tolist()
        assert series.loads_qps.tolist() == expected.loads_qps.tolist()
        assert (report.rows, report.missing, report.gaps) == (told.rows, told.missing, told.gaps)
    assert read_series("memory://histories/load.csv.gz")[0].times_s.tolist() == expected.times_s.tolist()
    assert read_series(f"file://{tmp_path}/load.csv")[0].times_s.tolist() == expected.times_s.tolist()


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_an_unnamed_index_of_times_is_the_time(tmp_path: Path, zone: str | None) -> None:
    clock = pandas.to_datetime(["2026-01-31T12:00:00", "2026-01-31T12:00:01", "2026-01-31T13:00:00"]).tz_localize(zone)
    frame = pandas.DataFrame({"requests_per_s": [1.0, 2.0, 3.0]}, index=clock)
    frame.to_parquet(tmp_path / "load.parquet")
    frame.to_csv(tmp_path / "load.csv")
    frame.set_axis([str(each) for each in clock]).to_parquet(tmp_path / "texts.parquet")
    for name in ("load.parquet", "load.csv", "texts.parquet"):
        series, _ = read_series(str(tmp_path / name))
        assert series.times_s.tolist() == [NOON_S, NOON_S + 1, NOON_S + 3600]
    text = (tmp_path / "load.csv").read_text().replace("2026-01-31 13:00:00", "soon")
    with pytest.raises(BadSeries, match="line 4: time is 'soon"):
        read_series(written(tmp_path, text, "soon.csv"))


def test_an_unnamed_index_beside_times_or_of_row_numbers_is_ignored(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"time": [5, 6, 8], "requests_per_s": [1.0, 2.0, 3.0]})
    for index in ([0, 1, 2], [0, 4, 9], pandas.date_range("2026-01-31", periods=3)):
        own = frame.set_axis(index)
        own.to_parquet(tmp_path / "load.parquet")
        own.to_csv(tmp_path / "load.csv")
        for name in ("load.parquet", "load.csv"):
            assert read_series(str(tmp_path / name))[0].times_s.tolist() == [5, 6, 8]
    for index in ([0, 1, 2], [0, 4, 9], ["a", "b", "c"]):
        own = frame[["requests_per_s"]].set_axis(index)
        own.to_parquet(tmp_path / "load.parquet")
        own.to_csv(tmp_path / "load.csv")
        for name in ("load.parquet", "load.csv"):
            assert read_series(str(tmp_path / name))[0].times_s.tolist() == [0, 1, 2]


@pytest.mark.parametrize("names", [("endpoint", "time"), ("endpoint", None), (None, "time"), (None, None)])
def test_an_index_of_several_levels_is_as_many_columns(tmp_path: Path, names: tuple[str | None, ...]) -> None:
    clock = pandas.to_datetime(["2026-01-31T12:00:00", "2026-01-31T12:00:01", "2026-01-31T13:00:00"])
    index = pandas.MultiIndex.from_arrays([["a"] * 3, clock], names=names)
    frame = pandas.DataFrame({"requests_per_s": [1.0, 2.0, 3.0]}, index=index)
    frame.to_parquet(tmp_path / "load.parquet")
    series, _ = read_series(str(tmp_path / "load.parquet"), endpoint="a" if "endpoint" in names else None)
    assert series.times_s.tolist() == [NOON_S, NOON_S + 1, NOON_S + 3600]
    assert series.loads_qps.tolist() == [1.0, 2.0, 3.0]


def test_of_several_unnamed_levels_none_is_the_time_beside_a_column_of_times(tmp_path: Path) -> None:
    days = pandas.date_range("2026-01-31", periods=3)
    frame = pandas.DataFrame({"time": [5, 6, 8], "requests_per_s": [1.0, 2.0, 3.0]})
    frame.set_axis(pandas.MultiIndex.from_arrays([[0, 1, 2], days])).to_parquet(tmp_path / "load.parquet")
    assert read_series(str(tmp_path / "load.parquet"))[0].times_s.tolist() == [5, 6, 8]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("requests_per_s\n5\n-1.5\n", BadSeries, "line 3: requests_per_s is '-1.5'; a load is finite"),
        ("requests_per_s\n5\nmany\n6\nfew\n", BadSeries, r"line 3: requests_per_s is 'many' \(2 such rows in all\)"),
        ("requests_per_s\n5\ninf\n", BadSeries, "line 3: requests_per_s is 'inf'; a load is finite"),
        ("requests_per_s\n5\n1e300\n", BadSeries, r"line 3: requests_per_s is '1e\+300'; a load is .* to 1e\+12"),
        ("requests_per_s\n5\n1e999\n", BadSeries, "line 3: requests_per_s is '1e999'; a load is"),
        ("requests_per_s\nTrue\nFalse\n", BadSeries, "line 2: requests_per_s is 'True'"),
        ("requests_per_s\n\n\n", BadSeries, "has 2 rows, none with a load"),
        ("requests_per_s\n", BadSeries, "has 0 rows, none with a load"),
        ("requests_per_s,time\n1,soon\n", BadSeries, "line 2: time is 'soon'; a time is seconds since the epoch, or"),
        ("requests_per_s,time\n1,5\n2,soon\n", BadSeries, "line 3: time is 'soon'; write all times as seconds"),
        ("requests_per_s,time\n1,1769860800000\n", BadSeries, "line 2: time is '1769860800000'; .* not milliseconds"),
        ("requests_per_s,time\n1,5\n2,\n", BadSeries, "line 3 has a load but no time"),
        ("requests_per_s,time\n1,5\n2,6.25\n", BadSeries, r"line 3: time is 6.250000 s, which is no whole second"),
        ("requests_per_s\n1\n2\n1,2,3\n", ConfigError, "is no CSV file: .*line 4"),
        ("requests_per_s,time\n1,2,3\n1,2,3\n", ConfigError, "more cells than the header"),
        ("load,time\n1,2\n", ConfigError, "has columns load, time, but none is requests_per_s; give column"),
        ("52\n55\n48\n", ConfigError, "begins with '52', a number; give the column a name"),
        ("", ConfigError, "is no CSV file"),
    ],
)
def test_a_file_that_is_no_history_is_refused_with_the_line_and_the_value(
    tmp_path: Path, text: str, error: type[AccordError], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        read_series(written(tmp_path, text))
    assert str(tmp_path / "load.csv") in str(raised.value)


def test_rows_of_parquet_are_counted_from_zero(tmp_path: Path) -> None:
    pandas.DataFrame({"requests_per_s": [1.0, -2.0]}).to_parquet(tmp_path / "load.parquet")
    with pytest.raises(BadSeries, match=r"load.parquet, row 1: requests_per_s is '-2.0'"):
        read_series(str(tmp_path / "load.parquet"))


@pytest.mark.parametrize(
    ("times", "step_s", "message"),
    [
        ((0, 60, 90), 60, "comes 30 s after the one before, no multiple of a step of 60 s; all are multiples of 30 s"),
        ((0, 60, 180), 1, "no two steps are 1 s apart, the closest are 60 s; give 60 s as the step"),
        ((0, 60, 180), 0, "step_s is 0; give whole seconds"),
    ],
)
def test_times_that_do_not_fit_the_step_are_refused_with_the_one_that_fits(
    tmp_path: Path, times: tuple[int, ...], step_s: int, message: str
) -> None:
    rows = "\n".join(f"{at},1" for at in times)
    with pytest.raises(AccordError, match=message):
        read_series(written(tmp_path, f"time,requests_per_s\n{rows}\n"), step_s=step_s)


def test_a_beginning_is_refused_for_a_file_with_times(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has times of its own"):
        read_series(written(tmp_path, "time,requests_per_s\n0,1\n"), start_s=0)


def test_a_history_of_zeros_has_nothing_left_where_zeros_are_gaps(tmp_path: Path) -> None:
    with pytest.raises(BadSeries, match="no load above 0, and zeros count as gaps"):
        read_series(written(tmp_path, "requests_per_s\n0\n0\n"), zeros_are_gaps=True)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("/nowhere/load.csv", "cannot read /nowhere/load.csv: .*No such file"),
        ("/nowhere/load.parquet", "cannot read /nowhere/load.parquet"),
        ("memory://nowhere/load.csv", "cannot read memory://nowhere/load.csv"),
        ("gopher://nowhere/load.csv", "cannot read gopher://nowhere/load.csv: .*gopher"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(where: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_series(where)


@pytest.mark.parametrize(("name", "kind"), [("load.csv", "CSV"), ("load.parquet", "Parquet")])
def test_a_file_of_another_kind_is_told(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00\x01 no table")
    with pytest.raises(ConfigError, match=f"is no {kind} file"):
        read_series(str(tmp_path / name))
