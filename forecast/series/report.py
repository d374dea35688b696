"""What was found in the file of a load history, and what was done about it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from forecast.series.series import DAY_S, LoadSeries


@dataclass(frozen=True)
class SeriesReport:
    """Rows of a file beside the steps that came of them.

    ``missing`` rows have no load, ``zeros`` are loads of 0 that count as not observed, ``duplicates`` rows had the
    time of a later row, which stands; ``out_of_order`` rows came after a row of a later time. What is missing between
    the first step and the last is in ``gaps`` pieces, the longest of ``longest_gap_s``, ``gaps_s`` in all.
    """

    where: str
    rows: int
    steps: int
    step_s: int
    start_s: int
    end_s: int
    missing: int
    zeros: int
    duplicates: int
    out_of_order: int
    gaps: int
    longest_gap_s: int
    gaps_s: int

    @classmethod
    def of(
        cls, series: LoadSeries, where: str, rows: int, missing: int, zeros: int, duplicates: int, out_of_order: int
    ) -> "SeriesReport":
        """Of what became of a file's rows."""
        lengths_s = [gap.length_s for gap in series.gaps]
        return cls(
            where=where,
            rows=rows,
            steps=len(series),
            step_s=series.step_s,
            start_s=series.start_s,
            end_s=series.end_s,
            missing=missing,
            zeros=zeros,
            duplicates=duplicates,
            out_of_order=out_of_order,
            gaps=len(lengths_s),
            longest_gap_s=max(lengths_s, default=0),
            gaps_s=sum(lengths_s),
        )

    def to_record(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """For people: what there is, then whatever is not as it should be."""
        yield f"{self.steps:,} steps of {self.step_s} s, from {instant(self.start_s)} to {instant(self.end_s)}"
        if self.missing:
            yield f"{self.missing:,} of {self.rows:,} rows have no load: not observed"
        if self.zeros:
            yield f"{self.zeros:,} rows have a load of 0: taken as not observed"
        if self.duplicates:
            yield f"{self.duplicates:,} rows have the time of a later row, which stands"
        if self.out_of_order:
            yield f"{self.out_of_order:,} rows come after a later time: sorted"
        if self.gaps:
            yield (
                f"{self.gaps:,} gaps, {length(self.gaps_s)} in all, the longest {length(self.longest_gap_s)}: "
                "left out, not filled"
            )
        else:
            yield "no gaps"


def instant(at_s: float) -> str:
    """An instant as text, in UTC: a date, or the day and time of a file that has no times and begins with day 0."""
    if at_s < 366 * DAY_S:
        days, rest_s = divmod(int(at_s), DAY_S)
        return f"day {days} {datetime.fromtimestamp(rest_s, UTC):%H:%M:%S}"
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def length(length_s: float) -> str:
    """A length of time as text, in the largest unit that has at least one of it."""
    for unit, size_s in (("days", DAY_S), ("h", 3600), ("min", 60)):
        if length_s >= size_s:
            return f"{round(length_s / size_s, 1):g} {unit}"
    return f"{length_s:g} s"
