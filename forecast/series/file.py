"""The history of a load, from a CSV or Parquet file anywhere."""

import numpy as np
from numpy.typing import NDArray

from catalog.errors import BadSeries, ConfigError
from forecast.series.report import SeriesReport, instant
from forecast.series.series import LoadSeries
from forecast.series.table import TIME, SeriesTable


def read_series(
    where: str,
    *,
    step_s: int = 1,
    start_s: int | None = None,
    endpoint: str | None = None,
    zeros_are_gaps: bool = False,
) -> tuple[LoadSeries, SeriesReport]:
    """Read a path or URL that fsspec knows, compressed where its name says so, and say what was found.

    The load of a step is in the column ``requests_per_s``, or in the only one that there is; an empty cell was not
    observed. The column ``time`` says when the step began; without one, each row is the step after the row before, and
    the first begins at ``start_s`` (0: midnight of day 0). Rows may stand in any order, and of rows with the same time
    the last stands. Where there is a column ``endpoint`` with several, name one.

    Nothing is filled: steps without a load are left out, and with ``zeros_are_gaps`` those of load 0 as well.

    Raises `ConfigError` where the file cannot be read or has other columns, `BadSeries` for values that are no loads
    and times that do not fit ``step_s``.
    """
    if step_s < 1:
        raise ConfigError(f"step_s is {step_s}; give whole seconds, at least 1")
    table = SeriesTable.read(where, endpoint)
    loads_qps = table.loads_qps()
    observed = ~np.isnan(loads_qps)
    if not observed.any():
        raise BadSeries(f"{where} has {len(loads_qps)} rows, none with a load; give one load per step")
    if table.has_times:
        if start_s is not None:
            raise ConfigError(f"{where} has times of its own, in column {TIME}; leave out the start")
        times_s = _whole(table, observed)
    else:
        times_s = (start_s or 0) + step_s * np.arange(len(loads_qps), dtype=np.int64)[observed]
    loads_qps = loads_qps[observed]

    out_of_order = int((times_s < np.maximum.accumulate(times_s)).sum())
    order = np.argsort(times_s, kind="stable")
    times_s, loads_qps = times_s[order], loads_qps[order]
    last = np.append(times_s[1:] != times_s[:-1], True)
    times_s, loads_qps = times_s[last], loads_qps[last]
    if table.has_times:
        _check_grid(where, times_s, step_s)

    series = LoadSeries(times_s, loads_qps, step_s)
    zeros = int((loads_qps == 0).sum()) if zeros_are_gaps else 0
    if zeros == len(series):
        raise BadSeries(f"{where} has no load above 0, and zeros count as gaps; give another file, or keep zeros")
    if zeros:
        series = series.without_zeros()
    report = SeriesReport.of(
        series,
        where,
        rows=len(observed),
        missing=int((~observed).sum()),
        zeros=zeros,
        duplicates=int((~last).sum()),
        out_of_order=out_of_order,
    )
    return series, report


def _whole(table: SeriesTable, observed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Times of the rows that have a load; raises `BadSeries` where there is none, or not of a whole second."""
    times_s = table.times_s()
    lost = observed & np.isnan(times_s)
    if lost.any():
        raise BadSeries(
            f"{table.location(int(lost.argmax()))} has a load but no {TIME}; give it one, or remove the row"
        )
    broken = observed & (times_s % 1 != 0)
    if broken.any():
        first = int(broken.argmax())
        raise BadSeries(
            f"{table.location(first)}: {TIME} is {times_s[first]:.6f} s, which is no whole second "
            f"({int(broken.sum())} such rows in all); write when the step began"
        )
    return times_s[observed].astype(np.int64)


def _check_grid(where: str, times_s: NDArray[np.int64], step_s: int) -> None:
    """Raise `BadSeries` where steps of this length are not what the times are apart."""
    if len(times_s) < 2:
        return
    apart_s = np.diff(times_s)
    off = apart_s % step_s != 0
    fits_s = int(np.gcd.reduce(apart_s))
    if off.any():
        first = int(off.argmax())
        raise BadSeries(
            f"{where}: the step at {instant(times_s[first + 1])} comes {int(apart_s[first])} s after the one before, "
            f"no multiple of a step of {step_s} s; all are multiples of {fits_s} s: give that as the step"
        )
    if apart_s.min() > step_s:
        raise BadSeries(
            f"{where}: no two steps are {step_s} s apart, the closest are {int(apart_s.min())} s; give "
            f"{fits_s} s as the step"
        )
