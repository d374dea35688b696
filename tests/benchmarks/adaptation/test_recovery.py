"""Recovery is counted from the last window that was not as it should be."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptation_scene import record
from benchmarks.adaptation.answers import Answers
from benchmarks.adaptation.recovery import accuracy_recovered_s, violations_recovered_s

PER_WINDOW = 20
START_S = 10.0


def violating(late: Sequence[int]) -> Answers:
    """So many late queries of 20 in each second from 10 s."""
    rows = [
        record(START_S + second + (number + 0.5) / PER_WINDOW, 1.0 if number < count else 0.01)
        for second, count in enumerate(late)
        for number in range(PER_WINDOW)
    ]
    return Answers.of({"e": rows}, {"e": 100.0})


def accurate(means: Sequence[float | None]) -> Answers:
    """Answers of such an accuracy in each second from 10 s, none where it is None."""
    rows = [record(START_S + second + 0.5, 0.01, mean) for second, mean in enumerate(means) if mean is not None]
    return Answers.of({"e": rows}, {"e": 100.0})


@pytest.mark.parametrize(
    ("late", "recovered_s"),
    [
        ([0, 0, 0, 0], 0.0),
        ([20, 3, 0, 0], 2.0),
        ([0, 0, 20, 0], 3.0),
        ([20, 0, 0, 1], None),
        ([1, 0, 0, 0], 1.0),
    ],
    ids=["never bad", "bad at first", "bad in between", "bad at the end", "five percent are too many"],
)
def test_violations_are_over_when_no_later_window_has_them(late: list[int], recovered_s: float | None) -> None:
    assert violations_recovered_s(violating(late), START_S, START_S + len(late)) == recovered_s


def test_windows_after_the_end_do_not_count() -> None:
    assert violations_recovered_s(violating([20, 0, 0, 20]), START_S, START_S + 3) == 1.0


@given(st.lists(st.integers(0, PER_WINDOW), min_size=1, max_size=12))
def test_from_the_recovery_on_every_window_is_good_and_the_one_before_is_not(late: list[int]) -> None:
    recovered_s = violations_recovered_s(violating(late), START_S, START_S + len(late))
    bad = [count >= PER_WINDOW * 0.05 for count in late]
    number = len(late) if recovered_s is None else int(recovered_s)
    assert not any(bad[number:])
    assert number == 0 or bad[number - 1]


@pytest.mark.parametrize(
    ("means", "recovered_s"),
    [
        ([0.970, 0.972, 0.9765, 0.977], 2.0),
        ([0.977, 0.977], 0.0),
        ([0.99, 0.99], 0.0),
        ([0.97, 0.977, None, 0.977], 3.0),
        ([0.977, 0.97], None),
    ],
    ids=["comes back", "never away", "better than before", "nobody answers", "away at the end"],
)
def test_accuracy_is_back_when_it_stays_within_the_band(means: list[float | None], recovered_s: float | None) -> None:
    assert accuracy_recovered_s(accurate(means), START_S, START_S + len(means), 97.8) == recovered_s
