"""A table of loads from a file anywhere: its columns as arrays, with errors that name line and value."""

import io
from dataclasses import dataclass
from typing import Any

import fsspec
import numpy as np
import pandas
import pyarrow
from numpy.typing import NDArray

from catalog.errors import BadSeries, ConfigError
from catalog.extras import TO_INSTALL

LOAD, TIME, ENDPOINT = "requests_per_s", "time", "endpoint"

COLUMNS = (
    f"column {LOAD}, and where wanted {TIME} (seconds since the epoch, or ISO 8601, in UTC or with a zone) "
    f"and {ENDPOINT}"
)

UNNAMED = "Unnamed: 0"
"""What pandas calls the first column of a CSV where the header has no name for it."""

PARQUET = (".parquet", ".pq")

MOST_QPS = 1e12
"""No service has more; squares of much larger numbers are infinite."""

LATEST_S = 1e11
"""In the year 5138; later times are milliseconds or smaller."""


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """Rows of one endpoint; the index of ``frame`` counts the rows of the file from 0."""

    where: str
    frame: Any
    load: str
    is_parquet: bool

    @classmethod
    def read(cls, where: str, endpoint: str | None) -> "SeriesTable":
        """Read a CSV or Parquet file at a path or URL; raises `ConfigError` where it is not one of loads."""
        is_parquet = where.partition("?")[0].lower().endswith(PARQUET)
        frame = _frame(where, is_parquet)
        names = [str(name).strip() for name in frame.columns]
        if twice := [name for name in (LOAD, TIME, ENDPOINT) if names.count(name) > 1]:
            raise ConfigError(f"{where} has several columns of the name {twice[0]}; keep one, or rename the others")
        frame.columns = names
        return cls(where, _rows_of(frame, where, endpoint), _load_column(names, where), is_parquet)

    @property
    def has_times(self) -> bool:
        """Whether rows say when they are."""
        return TIME in self.frame.columns

    def loads_qps(self) -> NDArray[np.float64]:
        """Loads, NaN where the cell is empty; raises `BadSeries` for what is no load."""
        column = self.frame[self.load]
        loads = self._numbers(column, "a load is a number of requests per second, or empty where nobody looked")
        wrong = (loads > MOST_QPS) | (loads < 0)
        if wrong.any():
            raise self._fault(
                wrong,
                column,
                f"a load is finite, from 0 to {MOST_QPS:g}; leave the cell empty where nobody looked",
            )
        return loads

    def times_s(self) -> NDArray[np.float64]:
        """Seconds since the epoch, NaN where the cell is empty; raises `BadSeries` for what is no time."""
        column = self.frame[TIME]
        numbers = pandas.to_numeric(column, errors="coerce") if column.dtype == object else column
        if pandas.api.types.is_numeric_dtype(numbers) and (numbers.notna().any() or column.isna().all()):
            times_s = self._numbers(column, "write all times as seconds since the epoch, or all as ISO 8601")
            wrong = np.abs(times_s) > LATEST_S
            if wrong.any():
                raise self._fault(wrong, column, "times count seconds since the epoch, not milliseconds; divide them")
            return times_s
        instants = pandas.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
        wrong = (instants.isna() & column.notna()).to_numpy()
        if wrong.any():
            raise self._fault(
                wrong, column, "a time is seconds since the epoch, or ISO 8601 as in 2026-01-31T13:00:00Z"
            )
        nanoseconds = instants.astype("datetime64[ns, UTC]").astype("int64").to_numpy()
        found: NDArray[np.float64] = np.where(instants.isna().to_numpy(), np.nan, nanoseconds / 1e9)
        return found

    def location(self, row: int) -> str:
        """Where the row of that position is in the file, for errors."""
        counted = int(self.frame.index[row])
        return f"{self.where}, row {counted}" if self.is_parquet else f"{self.where}, line {counted + 2}"

    def _numbers(self, column: Any, advice: str) -> NDArray[np.float64]:
        numbers = pandas.to_numeric(column, errors="coerce")
        if column.dtype == bool or not pandas.api.types.is_numeric_dtype(numbers):
            raise self._fault(np.ones(len(column), dtype=bool), column, advice)
        wrong = (numbers.isna() & column.notna()).to_numpy()
        if wrong.any():
            raise self._fault(wrong, column, advice)
        return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))

    def _fault(self, wrong: NDArray[np.bool_], column: Any, advice: str) -> BadSeries:
        """An error about the first row that is wrong."""
        first, count = int(wrong.argmax()), int(wrong.sum())
        more = f" ({count} such rows in all)" if count > 1 else ""
        return BadSeries(f"{self.location(first)}: {column.name} is {str(column.iloc[first])!r}{more}; {advice}")


def _frame(where: str, is_parquet: bool) -> Any:
    try:
        with fsspec.open(where, "rb", compression=None if is_parquet else "infer") as file:
            content = io.BytesIO(file.read())
        if is_parquet:
            frame = _with_index(pandas.read_parquet(content))
        else:
            # an empty line of a file of one column is a step that nobody observed
            frame = _read_csv(content, skipinitialspace=True, skip_blank_lines=False)
            frame = _with_unnamed_times(frame)
    except ImportError as error:
        raise ConfigError(
            f"cannot reach {where}: {error}; install the driver with `{TO_INSTALL.format('cloud')}`"
        ) from error
    except (UnicodeDecodeError, pandas.errors.ParserError, pandas.errors.EmptyDataError, pyarrow.ArrowInvalid) as error:
        kind = "Parquet" if is_parquet else "CSV"
        raise ConfigError(f"{where} is no {kind} file: {str(error).strip()}; give one with {COLUMNS}") from error
    except Exception as error:  # drivers raise their own kinds: botocore, gcsfs, aiohttp
        raise ConfigError(f"cannot read {where}: {error}; give the path or URL of a CSV or Parquet file") from error
    if not isinstance(frame.index, pandas.RangeIndex):
        raise ConfigError(f"{where}: rows have more cells than the header names; give each column a name")
    return frame


def _with_index(frame: Any) -> Any:
    """A Parquet file's table with the levels of its index as columns, of which one without a name is ``time`` where it
    has instants and nothing else has that name.

    Other levels without a name, such as row numbers, are left out.
    """
    index = frame.index
    names = list(index.names)
    if TIME not in names and TIME not in frame.columns:
        instants = (
            level for level, name in enumerate(names) if name is None and _are_instants(index.get_level_values(level))
        )
        if (level := next(instants, None)) is not None:
            names[level] = TIME
    frame.index = index.set_names(names)
    unnamed = [level for level, name in enumerate(names) if name is None]
    if len(unnamed) == len(names):
        return frame.reset_index(drop=True)
    return frame.reset_index(level=unnamed, drop=True).reset_index()


def _with_unnamed_times(frame: Any) -> Any:
    """A CSV's first column under the name ``time`` where it has no name and instants: the index that pandas wrote.

    Row numbers, which pandas writes there as well, stay without a name.
    """
    first = frame.columns[0]
    unnamed = str(first).strip() in ("", UNNAMED)
    if not unnamed or TIME in {str(name).strip() for name in frame.columns} or not _are_instants(frame[first]):
        return frame
    return frame.rename(columns={first: TIME})


def _are_instants(column: Any) -> bool:
    """Whether a column, or an index, has instants, or texts of which any is ISO 8601; numbers may count rows."""
    if pandas.api.types.is_datetime64_any_dtype(column.dtype):
        return True
    if not (column.dtype == object or pandas.api.types.is_string_dtype(column.dtype)):
        return False
    return bool(pandas.to_datetime(column, utc=True, format="ISO8601", errors="coerce").notna().any())


def _read_csv(content: io.BytesIO, **options: Any) -> Any:
    """A CSV under the names of its first line, where pandas numbers those that come again; endpoints are texts."""
    header = pandas.read_csv(content, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    written = [name.strip() for name in header.iloc[0]]
    content.seek(0)
    # a converter sees cells as they are: NA is a name, and 01 another than 1
    converters = {place: str.strip for place, name in enumerate(written) if name == ENDPOINT}
    frame = pandas.read_csv(content, low_memory=False, converters=converters, **options)
    if len(written) == len(frame.columns):
        frame.columns = [name or numbered for name, numbered in zip(written, frame.columns, strict=True)]
    return frame


def _load_column(names: list[str], where: str) -> str:
    """The column of loads: the one of that name, or the only one."""
    if LOAD in names:
        return LOAD
    if len(names) != 1 or names[0] in (TIME, ENDPOINT):
        raise ConfigError(f"{where} has columns {', '.join(names)}, but none is {LOAD}; give {COLUMNS}")
    try:
        float(names[0])
    except ValueError:
        return names[0]
    raise ConfigError(f"{where} begins with {names[0]!r}, a number; give the column a name in the first line, {LOAD}")


def _rows_of(frame: Any, where: str, endpoint: str | None) -> Any:
    """The rows of an endpoint, all of a file that names none."""
    if ENDPOINT not in frame.columns:
        if endpoint is not None:
            raise ConfigError(f"{where} has no column {ENDPOINT}, so that {endpoint!r} is not in it; leave it out")
        return frame
    named = frame[ENDPOINT].notna() & (frame[ENDPOINT] != "")
    frame = frame[named | frame.drop(columns=ENDPOINT).notna().any(axis=1)]  # blank lines name no endpoint
    column = frame[ENDPOINT].astype(object).where(named, "").astype(str)
    known = sorted({*column} - {""})
    if endpoint is None and known and not named[frame.index].all():
        raise ConfigError(
            f"{where} has {int((column == '').sum())} rows that name no endpoint; name one there, or choose one of "
            f"{', '.join(known)}"
        )
    if endpoint is None and len(known) > 1:
        raise ConfigError(f"{where} has the load of {len(known)} endpoints; choose one of {', '.join(known)}")
    if endpoint is not None and endpoint not in known:
        raise ConfigError(f"{where} has no endpoint {endpoint!r}; it has {', '.join(known) or 'none'}")
    return frame if endpoint is None else frame[column == endpoint]
