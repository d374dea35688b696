"""What came in the last seconds, as reports of other lengths tell it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.recent_load import RecentLoad
from catalog.errors import BadSeries
from forecast.series.series import LoadSeries

EPOCH_S = 1_800_000_000.25
"""When the loop began to count: not at a full second."""


def report(start_s: float, end_s: float, **arrived: int) -> Statistics:
    return Statistics(start_s, end_s, arrived, {})


def known(recent: RecentLoad, endpoint: str = "a", last_s: int = 1000) -> dict[int, float]:
    series = recent.series(endpoint, last_s)
    return {} if series is None else dict(zip(series.times_s.tolist(), series.loads_qps.tolist(), strict=True))


def test_nothing_is_known_before_the_first_report() -> None:
    recent = RecentLoad(10)
    assert recent.known_until_s is None
    assert recent.series("a", 10) is None


def test_half_seconds_add_up_to_seconds_of_wall_time() -> None:
    recent = RecentLoad(60, EPOCH_S)
    for half in range(4, 9):  # reports are cut at full and half seconds of wall time
        start_s = 0.5 * half - 0.25
        recent.on_statistics(report(start_s, start_s + 0.5, a=half))
    whole = int(EPOCH_S) + 2
    assert recent.known_until_s == whole + 2
    assert known(recent) == {whole: 9, whole + 1: 13}


def test_a_second_that_is_not_over_is_not_known_yet() -> None:
    recent = RecentLoad(60)
    recent.on_statistics(report(0.0, 1.5, a=30))
    assert known(recent) == {0: 20}
    recent.on_statistics(report(1.5, 2.0, a=7))
    assert known(recent) == {0: 20, 1: 17}


def test_a_long_report_is_spread_evenly_over_its_seconds() -> None:
    recent = RecentLoad(60)
    recent.on_statistics(report(0.0, 5.0, a=10))
    assert known(recent) == dict.fromkeys(range(5), 2.0)


def test_seconds_that_nobody_reported_are_gaps_and_not_without_load() -> None:
    recent = RecentLoad(60)
    for start_s in (0, 1, 5, 6):
        recent.on_statistics(report(start_s, start_s + 1.0, **({"a": 3} if start_s < 6 else {})))
    assert known(recent) == {0: 3, 1: 3, 5: 3, 6: 0}
    assert known(recent, last_s=3) == {1: 3, 5: 3, 6: 0}, "so many that are known, wherever they lie"


def test_half_a_second_at_the_beginning_is_a_gap() -> None:
    recent = RecentLoad(60)
    recent.on_statistics(report(0.5, 1.0, a=5))
    recent.on_statistics(report(1.0, 2.0, a=8))
    assert known(recent) == {1: 8}


def test_an_endpoint_that_nobody_spoke_of_had_no_load() -> None:
    recent = RecentLoad(60)
    recent.on_statistics(report(0.0, 2.0, a=4))
    assert known(recent, "b") == {0: 0, 1: 0}


def test_what_is_older_than_what_is_kept_is_let_go_of() -> None:
    recent = RecentLoad(3)
    for second in range(100):
        recent.on_statistics(report(second, second + 1.0, a=second))
    assert set(known(recent)) >= {97, 98, 99}
    assert len(known(recent)) <= 6
    recent.on_statistics(report(10.0, 11.0, a=1))
    assert 10 not in known(recent)
    recent.on_statistics(report(1000.0, 1001.0, a=1))
    assert known(recent) == {1000: 1}


def test_what_was_kept_elsewhere_is_taken_up_before_and_after_reports() -> None:
    before = LoadSeries.regular(np.arange(5.0), start_s=10)
    for late in (False, True):
        recent = RecentLoad(60)
        if not late:
            recent.add("a", before)
        recent.on_statistics(report(16.0, 17.0, a=9))
        if late:
            recent.add("a", before)
        assert known(recent) == {10: 0, 11: 1, 12: 2, 13: 3, 14: 4, 16: 9}
        assert recent.known_until_s == 17


def test_where_both_know_of_a_second_the_higher_load_counts() -> None:
    recent = RecentLoad(60)
    recent.on_statistics(report(0.5, 1.0, a=5))  # the rest was reported to another controller
    recent.on_statistics(report(1.0, 2.0, a=8))
    recent.add("a", LoadSeries.regular(np.array([11.0, 6.0])))
    assert known(recent) == {0: 11, 1: 8}


def test_of_a_long_history_only_what_is_kept_is_taken_up() -> None:
    recent = RecentLoad(10)
    recent.add("a", LoadSeries.regular(np.arange(1000.0)))
    assert known(recent, last_s=10) == {second: second for second in range(990, 1000)}
    assert min(known(recent)) >= 980


def test_a_history_in_other_steps_is_refused() -> None:
    with pytest.raises(BadSeries, match="steps of 60 s"):
        RecentLoad(10).add("a", LoadSeries.regular(np.ones(3), step_s=60))


@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(0, 50), st.booleans()), min_size=1, max_size=60),
    st.integers(5, 20),
)
def test_whatever_is_reported_whole_is_known_as_it_was(reports: list[tuple[int, int, bool]], kept_s: int) -> None:
    """Reports of so many quarters of a second one after the other, some of which are lost."""
    recent, at = RecentLoad(kept_s, EPOCH_S), 0
    seconds: dict[int, list[float]] = {}
    for quarters, arrived, lost in reports:
        for quarter in range(at, at + quarters):
            if not lost:
                seconds.setdefault((quarter + 1) // 4, []).append(arrived / quarters)  # the epoch is a quarter late
        if not lost:
            recent.on_statistics(report(at / 4, (at + quarters) / 4, a=arrived))
        at += quarters
    base, found = int(EPOCH_S), known(recent)
    assert all(found[second] == pytest.approx(sum(seconds[second - base])) for second in found)
    if (until_s := recent.known_until_s) is not None:
        whole = {base + second for second, parts in seconds.items() if len(parts) == 4}
        assert {second for second in whole if until_s - kept_s <= second < until_s} <= set(found)
