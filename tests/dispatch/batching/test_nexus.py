"""Early drop, against a plain search for the window."""

from hypothesis import given
from hypothesis import strategies as st

from dispatch.batching.nexus import EarlyDrop
from dispatch.query import Job, Query
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.selection.policy import Candidate, Choice, Drop, QueueView

CANDIDATE = Candidate("v", 0.9, (0.0, 1.0, 1.2, 1.4))


def view(*deadlines_s: float) -> QueueView:
    queue = DeadlineQueue()
    for number, deadline_s in enumerate(deadlines_s):
        queue.push(Job(number, Query(number, "e", 0.0, deadline_s), deadline_s, 1, {}))
    return QueueView(10.0, len(deadlines_s), min(deadlines_s), (CANDIDATE,), waiting=queue)


def test_what_waits_is_launched_at_once() -> None:
    assert EarlyDrop().choose(view(19.0)) == Choice("v", 1)
    assert EarlyDrop().choose(view(*[19.0] * 9)) == Choice("v", 3)


def test_who_keeps_a_full_window_from_being_in_time_is_given_up() -> None:
    assert EarlyDrop().choose(view(11.1, 11.3, 19.0, 19.0, 19.0)) == Drop(2)


def test_a_shorter_queue_makes_a_shorter_window() -> None:
    assert EarlyDrop().choose(view(11.1, 11.3, 11.9)) == Drop(1)


def test_where_no_window_is_left_all_are_given_up() -> None:
    assert EarlyDrop().choose(view(9.0, 10.5, 10.9)) == Drop(3)


@given(st.lists(st.floats(9.0, 14.0), min_size=1, max_size=12))
def test_after_what_is_given_up_comes_the_first_window_in_time(deadlines_s: list[float]) -> None:
    ordered = sorted(deadlines_s)
    fits = [10.0 + CANDIDATE.latency_s[min(len(ordered) - n, 3)] + 1e-8 <= ordered[n] for n in range(len(ordered))]
    first = fits.index(True) if any(fits) else len(ordered)
    expected = Drop(first) if first else Choice("v", min(len(ordered), 3))
    assert EarlyDrop().choose(view(*deadlines_s)) == expected
