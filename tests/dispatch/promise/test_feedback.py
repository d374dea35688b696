"""The share of the slack that may be spent: it falls where that is no chance, and comes back."""

import numpy as np
import pytest

from dispatch.promise.feedback import (
    BELOW,
    CAUTION_S,
    CAUTIOUS_RISE_PER_S,
    LEAST,
    LEAST_LATE,
    PAUSE_S,
    RISE_PER_S,
    SHRINK,
    SURE,
    SlackFeedback,
)

PROMISED = 0.01


def serve(
    feedback: SlackFeedback, late_rate: float, from_s: float, to_s: float, queries: int = 1, seed: int = 1
) -> list[float]:
    """200 queries/s in batches that are late as a whole with this probability; gives the instants of steps down."""
    rng = np.random.default_rng(seed)
    gap_s = queries / 200.0
    steps_s = []
    for number in range(round((to_s - from_s) / gap_s)):
        now_s = from_s + (number + 1) * gap_s
        before = feedback.share
        feedback.on_batch(queries, queries * int(rng.random() < late_rate), PROMISED, now_s - 1e-3, now_s)
        if feedback.share < before:
            steps_s.append(now_s)
    return steps_s


def broken() -> SlackFeedback:
    """One step down, at the instant 0."""
    feedback = SlackFeedback()
    for _ in range(100):
        feedback.on_batch(1, 1, PROMISED, 0.0, 0.0)
        if feedback.share < 1.0:
            return feedback
    raise AssertionError("no step")


@pytest.mark.parametrize("queries", [1, 8])
def test_it_stays_where_half_of_what_may_be_late_is(queries: int) -> None:
    assert serve(SlackFeedback(), PROMISED / 2, 0.0, 1200.0, queries) == []


def test_it_seldom_falls_where_just_as_many_are_late_as_may_be() -> None:
    steps_s = serve(SlackFeedback(), PROMISED, 0.0, 1200.0)
    assert len(steps_s) <= 1200.0 * 200.0 * PROMISED / 30.0, "once in thirty late batches at most"


@pytest.mark.parametrize(("late_rate", "within_s"), [(0.2, 1.0), (0.1, 2.0), (0.03, 10.0), (0.02, 30.0)])
def test_it_falls_the_sooner_the_more_are_late(late_rate: float, within_s: float) -> None:
    feedback = SlackFeedback()
    steps_s = [serve(SlackFeedback(), late_rate, 0.0, 60.0, seed=seed)[0] for seed in range(20)]
    assert np.mean(steps_s) < within_s
    serve(feedback, late_rate, 0.0, steps_s[1] + 1.0, seed=1)
    assert feedback.share <= SHRINK


def test_a_step_comes_with_the_excess_that_is_no_chance() -> None:
    """By hand: all are late, so that each adds 1 less what is promised."""
    feedback = SlackFeedback()
    needed = int(SURE / (1.0 - PROMISED)) + 1
    for number in range(needed):
        assert feedback.share == 1.0
        feedback.on_batch(1, 1, PROMISED, 0.1 * number, 0.1 * number)
    assert feedback.share == SHRINK
    assert feedback.reason == f"{needed} of {needed} queries (100.0%) were late within 0.6 s, where 1.0% may be"


def test_queries_that_are_late_together_count_as_one() -> None:
    feedback = SlackFeedback()
    for number in range(LEAST_LATE):
        feedback.on_batch(200, 200, PROMISED, 0.1 * number, 0.1 * number)
    assert feedback.share == 1.0


def test_fewer_late_batches_than_three_are_no_cause_whatever_their_size() -> None:
    feedback = SlackFeedback()
    for now_s in (0.0, 0.1):
        feedback.on_batch(500, 500, PROMISED, now_s, now_s)
    assert feedback.share == 1.0


def test_what_came_before_a_step_does_not_count_after_it() -> None:
    feedback = broken()
    for _ in range(100):
        feedback.on_batch(10, 10, PROMISED, arrived_s=-0.1, now_s=0.1)
    assert feedback.share == SHRINK
    for _ in range(100):
        feedback.on_batch(10, 10, PROMISED, arrived_s=0.05, now_s=0.1)
    assert feedback.share < SHRINK


def test_it_never_falls_below_the_least() -> None:
    feedback = SlackFeedback()
    serve(feedback, 1.0, 0.0, 30.0)
    assert feedback.share == LEAST


def test_where_more_are_promised_to_be_late_more_may_be() -> None:
    feedback = SlackFeedback()
    for number in range(1000):
        feedback.on_batch(1, number % 2, 0.5, 0.01 * number, 0.01 * number)
    assert feedback.share == 1.0


def test_it_comes_back_at_once_up_to_just_below_where_it_broke_and_cautiously_from_there() -> None:
    feedback = broken()
    serve(feedback, 0.0, 0.0, PAUSE_S - 0.1)
    assert feedback.share == SHRINK
    quick_s = PAUSE_S + (BELOW - SHRINK) / RISE_PER_S
    serve(feedback, 0.0, PAUSE_S, quick_s)
    assert feedback.share == pytest.approx(BELOW, abs=0.002)
    assert feedback.reason is not None
    serve(feedback, 0.0, quick_s, quick_s + 10.0)
    assert feedback.share == pytest.approx(BELOW + 10.0 * CAUTIOUS_RISE_PER_S, abs=0.003)
    serve(feedback, 0.0, quick_s + 10.0, CAUTION_S + 5.0)
    assert feedback.share == 1.0
    assert feedback.reason is None


def test_it_comes_back_as_cautiously_where_batches_are_rare() -> None:
    feedback = broken()
    for at_s in (PAUSE_S + 5.0, PAUSE_S + 10.0):
        feedback.on_batch(1, 0, 0.01, at_s, at_s)
    assert BELOW < feedback.share <= BELOW + 12.0 * CAUTIOUS_RISE_PER_S


def test_steps_in_a_row_are_one_break_and_caution_begins_where_the_first_was() -> None:
    """The load jumps, and what waits makes everything late for a second: that says little of half the slack."""
    feedback = SlackFeedback()
    steps_s = serve(feedback, 1.0, 0.0, 0.12)
    assert len(steps_s) > 2
    low = feedback.share
    serve(feedback, 0.0, 0.12, steps_s[-1] + PAUSE_S + (BELOW - low) / RISE_PER_S)
    assert feedback.share == pytest.approx(BELOW, abs=0.005)


def test_nothing_comes_back_while_more_are_late_than_may_be() -> None:
    feedback = broken()
    serve(feedback, 0.0, 0.0, PAUSE_S)
    feedback.on_batch(1, 1, PROMISED, PAUSE_S, PAUSE_S)
    late_at = feedback.share
    until_s = PAUSE_S + 0.9 / (200.0 * PROMISED)
    serve(feedback, 0.0, PAUSE_S, until_s)
    assert feedback.share == late_at
    serve(feedback, 0.0, until_s, until_s + 5.0)
    assert feedback.share > late_at


def test_it_settles_where_few_enough_are_late_and_does_not_swing() -> None:
    """The more of the slack is spent the more are late: 4% of all of it, 1% of 0.6 of it, none of 0.47."""
    feedback = SlackFeedback()
    rng = np.random.default_rng(3)
    late, steps, shares = np.zeros(60_000), 0, []
    for number in range(60_000):  # five minutes
        now_s = (number + 1) / 200.0
        late[number] = rng.random() < max(0.01 + 0.03 * (feedback.share - 0.6) / 0.4, 0.0)
        before = feedback.share
        feedback.on_batch(1, int(late[number]), PROMISED, now_s - 1e-3, now_s)
        steps += feedback.share < before
        shares.append(feedback.share)
    assert late[12_000:].mean() < PROMISED
    assert 0.47 < np.mean(shares[12_000:]) < 0.7
    assert steps <= 12
