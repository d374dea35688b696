"""SlackFit: buckets by hand, and a fast variant in large batches as slack goes."""

import pytest

from dispatch.selection.policy import Candidate, Choice, QueueView
from dispatch.selection.slack_fit import Batch, SlackFitSelection, bucketed

FAST = Candidate("fast", 0.6, (0.0, 0.010, 0.012, 0.014, 0.016))
SLOW = Candidate("slow", 0.9, (0.0, 0.040, 0.050))
BOTH = (SLOW, FAST)


def view(slack_s: float, rows: int) -> QueueView:
    return QueueView(5.0, rows, 5.0 + slack_s, BOTH)


def test_buckets_are_of_one_width_and_empty_ones_are_left_out() -> None:
    # From 10 to 50 ms in four buckets of 10 ms: all of fast, nothing, nothing, both of slow.
    slowest, fastest = bucketed(BOTH, 4)
    assert slowest == (Batch(0.040, 1, 0.9, "slow"), Batch(0.050, 2, 0.9, "slow"))
    assert [(batch.variant, batch.rows) for batch in fastest] == [("fast", rows) for rows in (1, 2, 3, 4)]


def test_of_batches_alike_the_more_accurate_is_taken() -> None:
    twin = Candidate("twin", 0.7, (0.0, 0.011, 0.012))
    assert SlackFitSelection().choose(view(0.0125, 2)._replace(candidates=(SLOW, twin, FAST))) == Choice("twin", 2)


def test_one_latency_alone_is_one_bucket() -> None:
    assert bucketed((Candidate("only", 0.6, (0.0, 0.010)),), 40) == ((Batch(0.010, 1, 0.6, "only"),),)


@pytest.mark.parametrize(
    ("slack_s", "rows", "choice"),
    [
        (0.080, 4, Choice("slow", 2)),
        (0.051, 1, Choice("slow", 1)),
        (0.049, 4, Choice("slow", 1)),
        (0.039, 4, Choice("fast", 4)),
        (0.017, 3, Choice("fast", 3)),
        (0.015, 4, Choice("fast", 3)),
        (0.009, 4, Choice("fast", 4)),
        (-1.0, 4, Choice("fast", 4)),
    ],
    ids=[
        "ample",
        "just enough",
        "too little for two",
        "too little for slow",
        "just enough for fast",
        "for three",
        "for none",
        "late",
    ],
)
def test_the_slowest_bucket_that_the_slack_has_room_for_decides(slack_s: float, rows: int, choice: Choice) -> None:
    assert SlackFitSelection(buckets=4).choose(view(slack_s, rows)) == choice


def test_a_query_is_not_divided() -> None:
    seen = view(0.0405, 4)
    assert SlackFitSelection().choose(seen) == Choice("slow", 1)
    assert SlackFitSelection().choose(seen._replace(first_rows=2)) == Choice("fast", 4)


def test_latencies_that_change_have_buckets_of_their_own() -> None:
    policy = SlackFitSelection(buckets=4)
    assert policy.choose(view(0.051, 1)).variant == "slow"
    slower = Candidate("slow", 0.9, (0.0, 0.080, 0.100))
    assert policy.choose(view(0.051, 1)._replace(candidates=(slower, FAST))).variant == "fast"
    assert policy.choose(view(0.051, 1)).variant == "slow"
