"""Encodings of machine types compared, where one of them is never wrong."""

import pytest

from benchmarks.interference.machine_types import compared


@pytest.mark.parametrize(("one_hot", "learned", "lower_pct"), [(0.2, 0.1, 50.0), (0.2, 0.3, -50.0), (0.0, 0.0, None)])
def test_no_percentage_is_told_of_an_error_of_zero(one_hot: float, learned: float, lower_pct: float | None) -> None:
    found = compared(one_hot, learned)["lower_pct"]
    assert found == (None if lower_pct is None else pytest.approx(lower_pct))
