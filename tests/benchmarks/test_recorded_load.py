"""Zeros in a recorded load: a recorder that stood still, or seconds without a query."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.recorded_load import read_recorded

STEADY = np.full(2000, 50)


def zeros_in(load: "np.typing.NDArray[np.int_]", *runs: tuple[int, int]) -> "np.typing.NDArray[np.int_]":
    found = load.copy()
    for begin, length in runs:
        found[begin : begin + length] = 0
    return found


@pytest.mark.parametrize(
    ("load", "left_out"),
    [
        (STEADY, 0),
        (zeros_in(STEADY, (300, 40), (1980, 20)), 60),
        (zeros_in(STEADY, (300, 40), (1200, 1)), 0),
        (zeros_in(STEADY, *((begin, 60) for begin in range(0, 2000, 200))), 0),
        (np.random.default_rng(0).poisson(0.4, 2000), 0),
    ],
    ids=["no zeros", "two stops", "one second without a query", "pauses", "few queries"],
)
def test_zeros_are_gaps_where_they_are_few_and_always_many_in_a_row(
    tmp_path: Path, load: "np.typing.NDArray[np.int_]", left_out: int
) -> None:
    where = tmp_path / "load.csv"
    where.write_text("requests_per_s\n" + "\n".join(str(each) for each in load) + "\n")
    series, report = read_recorded(str(where))
    assert (report.zeros, len(series)) == (left_out, len(load) - left_out)
