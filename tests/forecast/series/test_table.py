"""Columns and endpoints of a table by their names."""

from pathlib import Path

import pandas
import pytest

from catalog.errors import ConfigError
from forecast.series.table import SeriesTable


def loads_of(where: Path, endpoint: str | None = None) -> list[float]:
    found: list[float] = SeriesTable.read(str(where), endpoint).loads_qps().tolist()
    return found


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "load.csv"


def test_endpoints_of_a_parquet_file_may_be_categories(tmp_path: Path) -> None:
    where = tmp_path / "load.parquet"
    frame = pandas.DataFrame({"endpoint": ["a", "b", "a", None], "requests_per_s": [1.0, 2.0, 3.0, 4.0]})
    frame.astype({"endpoint": "category"}).to_parquet(where)
    assert loads_of(where, "a") == [1.0, 3.0]


def test_the_name_of_an_endpoint_may_be_what_stands_for_missing_elsewhere(csv: Path) -> None:
    csv.write_text("endpoint,requests_per_s\nNA,1\nnull,NA\nNA,\n")
    assert loads_of(csv, "NA") == pytest.approx([1.0, float("nan")], nan_ok=True)
    with pytest.raises(ConfigError, match="load of 2 endpoints; choose one of NA, null"):
        loads_of(csv)


def test_spaces_around_names_are_no_part_of_them_and_names_of_digits_stay_as_they_are(csv: Path) -> None:
    csv.write_text("time, endpoint , requests_per_s\n2026-01-31T12:00:00, 01 , 5\n2026-01-31T12:00:01, 1, 6\n")
    assert loads_of(csv, "01") == [5.0]
    assert loads_of(csv, "1") == [6.0]


def test_rows_that_name_no_endpoint_are_told_where_others_do(csv: Path) -> None:
    csv.write_text("endpoint,requests_per_s\na,1\n,2\n\na,3\n")
    with pytest.raises(ConfigError, match=r"has 1 rows that name no endpoint; name one there, or choose one of a$"):
        loads_of(csv)
    assert loads_of(csv, "a") == [1.0, 3.0]
    csv.write_text("endpoint,requests_per_s\n,1\n,2\n")
    assert loads_of(csv) == [1.0, 2.0]


@pytest.mark.parametrize("name", ["time", "requests_per_s", "endpoint"])
@pytest.mark.parametrize("space", ["", " "])
def test_several_columns_of_one_name_are_refused(csv: Path, name: str, space: str) -> None:
    csv.write_text(f"time,endpoint,requests_per_s,{name}{space}\n1,a,2,1\n")
    with pytest.raises(ConfigError, match=f"has several columns of the name {name}; keep one"):
        loads_of(csv)
    csv.write_text("requests_per_s,cpu,cpu\n2,0.5,0.6\n")
    assert loads_of(csv) == [2.0], "columns that are not read may have any name"


@pytest.mark.parametrize("name", ["time", "endpoint"])
def test_a_file_without_loads_is_refused_though_it_has_one_column(csv: Path, name: str) -> None:
    csv.write_text(f"{name}\n1769860800\n1769860800\n")
    with pytest.raises(ConfigError, match=f"has columns {name}, but none is requests_per_s"):
        loads_of(csv)
