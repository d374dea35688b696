import numpy as np
import pytest

from catalog.errors import BadSeries
from forecast.series.series import Gap, LoadSeries


def series(times_s: list[int], loads: list[float], step_s: int = 1) -> LoadSeries:
    return LoadSeries(np.array(times_s, dtype=np.int64), np.array(loads), step_s)


@pytest.mark.parametrize(
    ("times_s", "loads", "step_s", "message"),
    [
        ([], [], 1, "the series is empty"),
        ([0, 1], [1.0], 1, r"times of shape \(2,\), loads of shape \(1,\)"),
        ([0, 1, 2], [1.0, -3.0, -1.0], 1, r"load -3.0 at step 1 \(2 such steps in all\)"),
        ([0, 1], [1.0, float("nan")], 1, "load nan at step 1"),
        ([0, 1], [1.0, float("inf")], 1, "load inf at step 1"),
        ([0, 0], [1.0, 1.0], 1, "step 1 comes 0 s after"),
        ([5, 3], [1.0, 1.0], 1, "step 1 comes -2 s after"),
        ([0, 60, 90], [1.0, 1.0, 1.0], 60, "step 2 comes 30 s after.*multiples of the 60 s"),
        ([0], [1.0], 0, "step_s is 0"),
    ],
)
def test_what_is_no_load_history_is_refused_with_the_value(times_s, loads, step_s, message: str) -> None:
    with pytest.raises(BadSeries, match=message):
        series(times_s, loads, step_s)


def test_gaps_are_told_and_never_filled() -> None:
    gappy = series([0, 10, 20, 50, 60, 90], [1.0] * 6, 10)
    assert gappy.gaps == [Gap(30, 20), Gap(70, 20)]
    assert (gappy.start_s, gappy.end_s, len(gappy)) == (0, 100, 6)


def test_a_part_is_chosen_by_when_its_steps_began() -> None:
    gappy = series([0, 1, 2, 7, 8], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert gappy.between(1, 8).loads_qps.tolist() == [2.0, 3.0, 4.0]
    assert gappy.position(2.5) == 3
    with pytest.raises(BadSeries, match="empty"):
        gappy.between(3, 7)


def test_zeros_may_count_as_not_observed() -> None:
    assert LoadSeries.regular(np.array([0.0, 4.0, 0.0, 0.0, 6.0]), 100).without_zeros().times_s.tolist() == [101, 104]
