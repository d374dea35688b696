"""Which variant runs while capacity is short."""

from math import inf

import pytest

from dispatch.admission.hurry import hurried
from dispatch.admission.pace import Pace
from dispatch.selection.policy import Candidate, Choice, QueueView

BEST = Candidate("best", 0.9, (0.0, 0.020, 0.030, 0.038, 0.044))  # 91 rows/s
MIDDLE = Candidate("middle", 0.8, (0.0, 0.012, 0.016, 0.019, 0.022))  # 182
FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.012, 0.014, 0.016))  # 250
SLOPPY = Candidate("sloppy", 0.6, (0.0, 0.012, 0.016, 0.020, 0.024))  # less accurate, and slower than fast
ALL = (BEST, MIDDLE, FAST, SLOPPY)
PACE = Pace.of(ALL, slo_s=0.1)


def view(rows: int = 8, slack_s: float = 0.09, candidates: tuple[Candidate, ...] = ALL) -> QueueView:
    return QueueView(1.0, rows, 1.0 + slack_s, candidates)


def test_every_variant_has_the_best_rate_of_two_batches_in_time() -> None:
    assert [(each.candidate.variant, each.rows) for each in PACE.strides] == [
        ("best", 4),
        ("middle", 4),
        ("fast", 4),
        ("sloppy", 4),
    ]
    assert [each.rate for each in PACE.strides] == pytest.approx([90.9, 181.8, 250.0, 166.7], abs=0.1)


@pytest.mark.parametrize(
    ("needed_rate", "runs"), [(0.0, "best"), (90.0, "best"), (92.0, "middle"), (182.0, "fast"), (inf, "fast")]
)
def test_the_most_accurate_that_bears_the_rate_runs(needed_rate: float, runs: str) -> None:
    assert hurried(PACE, Choice("best", 8), view(), 1.0, needed_rate) == Choice(runs, 4)


def test_none_is_more_accurate_than_what_the_policy_chose() -> None:
    assert hurried(PACE, Choice("middle", 8), view(), 1.0, 10.0) == Choice("middle", 4)
    assert hurried(PACE, Choice("sloppy", 3), view(), 1.0, 10.0) == Choice("sloppy", 3)


def test_a_smaller_batch_of_the_same_variant_stays() -> None:
    chosen = Choice("best", 2, "state")
    assert hurried(PACE, chosen, view(), 1.0, 10.0) is chosen


def test_what_is_late_does_not_run_for_its_accuracy() -> None:
    assert hurried(PACE, Choice("best", 8), view(slack_s=0.03), 1.0, 10.0) == Choice("middle", 4)
    assert hurried(PACE, Choice("best", 8), view(slack_s=0.001), 1.0, 10.0) == Choice("fast", 4)


def test_rows_that_count_for_more_make_smaller_batches() -> None:
    assert hurried(PACE, Choice("best", 8, "state"), view(), 2.0, 100.0) == Choice("middle", 2, "state")


@pytest.mark.parametrize("needed_rate", [100.0, inf])
def test_rows_that_count_for_less_make_batches_that_are_no_larger_than_a_variant_takes(needed_rate: float) -> None:
    runs = "middle" if needed_rate < inf else "fast"
    assert hurried(PACE, Choice("best", 4, "state"), view(rows=20), 0.3, needed_rate) == Choice(runs, 4, "state")


def test_the_variant_as_it_is_at_hand_says_how_large_its_batches_may_be() -> None:
    smaller = Candidate("fast", 0.7, FAST.latency_s[:4])
    assert hurried(PACE, Choice("best", 4), view(candidates=(BEST, smaller)), 0.3, inf) == Choice("fast", 3)


def test_only_what_is_at_hand_runs() -> None:
    assert hurried(PACE, Choice("best", 8), view(candidates=(BEST, FAST)), 1.0, 100.0) == Choice("fast", 4)
    assert hurried(PACE, Choice("best", 8), view(candidates=(BEST, SLOPPY)), 1.0, 170.0) == Choice("best", 8)


def test_a_query_is_not_divided() -> None:
    whole = view()._replace(first_rows=3)
    assert hurried(PACE, Choice("best", 8), whole, 4.0, 10.0) == Choice("best", 3)
    tight = view(slack_s=0.035)  # for two rows of the best, not for three
    assert hurried(PACE, Choice("best", 8), tight, 2.0, 10.0) == Choice("best", 2)
    assert hurried(PACE, Choice("best", 8), tight._replace(first_rows=3), 2.0, 10.0) == Choice("middle", 3)
