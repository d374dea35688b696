"""Adaptive batching: what it waits for, what it launches and whom it gives up."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.commands import Answers, Command, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch, Query
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView
from dispatch.worker_info import WorkerInfo

FLAT = Candidate("flat", 0.9, (0.0, 1.0, 1.0, 1.0, 1.0))
LINEAR = Candidate("linear", 0.9, (0.0, 1.0, 2.0, 3.0, 4.0))
BETWEEN = Candidate("between", 0.9, (0.0, 1.0, 1.2, 1.4, 1.6))


@dataclass(frozen=True)
class Rows:
    """A queue with these deadlines."""

    of_s: tuple[float, ...]

    def deadlines_s(self) -> Sequence[float]:
        return self.of_s


def view(candidate: Candidate, *deadlines_s: float, now_s: float = 10.0, first_arrival_s: float = inf) -> QueueView:
    made = QueueView(now_s, len(deadlines_s), deadlines_s[0], (candidate,), waiting=Rows(deadlines_s))
    return made._replace(first_arrival_s=first_arrival_s)


def test_it_waits_for_one_more_until_that_one_would_make_the_first_late() -> None:
    decision = AdaptiveBatching().choose(view(BETWEEN, 12.0, 12.5))
    assert isinstance(decision, Hold)
    assert decision.until_s == pytest.approx(12.0 - 1.4, abs=2e-6)


def test_when_that_instant_has_come_it_launches_what_waits() -> None:
    now_s = AdaptiveBatching().choose(view(BETWEEN, 12.0, 12.5)).until_s  # type: ignore[union-attr]
    assert AdaptiveBatching().choose(view(BETWEEN, 12.0, 12.5, now_s=now_s)) == Choice("between", 2)


def test_a_host_with_late_timers_is_woken_earlier() -> None:
    decision = AdaptiveBatching(margin_s=0.1).choose(view(BETWEEN, 12.0))
    assert isinstance(decision, Hold)
    assert decision.until_s == pytest.approx(12.0 - 1.2 - 0.1)


def test_a_full_batch_waits_for_nothing() -> None:
    assert AdaptiveBatching().choose(view(BETWEEN, *[20.0] * 5)) == Choice("between", 4)


def test_nobody_waits_for_longer_than_a_full_batch_saves_a_row() -> None:
    decision = AdaptiveBatching().choose(view(BETWEEN, 19.0, first_arrival_s=9.9))
    assert isinstance(decision, Hold)
    assert decision.until_s == pytest.approx(9.9 + 1.0 - 1.6 / 4)
    assert AdaptiveBatching().choose(view(BETWEEN, 19.0, first_arrival_s=9.0)) == Choice("between", 1)


def test_where_a_row_costs_the_same_in_every_batch_nobody_waits() -> None:
    assert AdaptiveBatching().choose(view(LINEAR, 19.0, first_arrival_s=10.0)) == Choice("linear", 1)


def test_who_cannot_be_met_any_more_is_given_up() -> None:
    assert AdaptiveBatching().choose(view(FLAT, 10.5, 10.9, 11.5)) == Drop(2)
    assert AdaptiveBatching().choose(view(FLAT, 9.0, 10.5)) == Drop(2)


def test_the_first_is_given_up_where_that_serves_more_rows_a_second() -> None:
    # in time with the first: 1 row in 1 s; without it: 4 rows in 1.6 s
    assert AdaptiveBatching().choose(view(BETWEEN, 11.1, 12.0, 12.0, 12.0, 12.0)) == Drop(1)


def test_the_first_is_served_where_a_smaller_batch_is_as_good() -> None:
    # in time with the first: 1 row in 1 s; without it: 2 rows in 2 s
    assert AdaptiveBatching().choose(view(LINEAR, 11.5, 12.5, 12.5)) == Choice("linear", 1)


PROFILES = st.lists(st.floats(0.01, 0.1), min_size=1, max_size=6).map(
    lambda steps: Candidate("v", 0.9, (0.0, *(sum(steps[: n + 1]) for n in range(len(steps)))))
)
ARRIVALS = st.lists(st.tuples(st.floats(0.0, 0.2), st.floats(0.01, 1.0)), min_size=1, max_size=60)
"""Gap to the query before, and the time that the query allows."""


def play(candidate: Candidate, arrivals: list[tuple[float, float]], slower: float) -> tuple[list[Batch], list[Query]]:
    """One worker, each batch of which takes ``slower`` times what is planned; all batches, and who was refused."""
    plan = EndpointPlan.of_stage(
        "e", StagePlan({"cpu": (candidate,)}, AdaptiveBatching(), None), slo_s=0.5, max_queued_rows=100
    )
    d = Dispatcher(Plan(1, {"e": plan}))
    d.on_worker_ready("w", WorkerInfo("cpu"), [candidate.variant], 0.0)
    batches: list[Batch] = []
    refused: list[Query] = []
    done_s = wake_s = inf
    served = 0

    def note(commands: list[Command]) -> None:
        nonlocal done_s, wake_s, served
        for command in commands:
            if isinstance(command, Launch):
                batches.append(command.batch)
                done_s = command.batch.launched_s + slower * candidate.latency_s[command.batch.rows]
            elif isinstance(command, WakeAt):
                wake_s = command.at_s
            elif isinstance(command, Reject):
                refused.append(command.query)
            elif isinstance(command, Answers):
                served += len(command.done.batch.jobs)

    def pass_time(until_s: float) -> None:
        nonlocal done_s, wake_s
        while min(done_s, wake_s) <= until_s:
            if done_s <= wake_s:
                now_s, done_s = done_s, inf
                note(d.on_done("w", batches[-1].id, [{}] * len(batches[-1].jobs), 0.0, now_s))
            else:
                now_s, wake_s = wake_s, inf
                note(d.on_timer(now_s))

    now_s = 0.0
    for number, (gap_s, allowed_s) in enumerate(arrivals):
        now_s += gap_s
        pass_time(now_s)
        note(d.on_arrival(Query(number, "e", now_s, now_s + allowed_s), now_s))
    pass_time(1e9)
    assert served + len(refused) == len(arrivals)
    return batches, refused


@given(PROFILES, ARRIVALS, st.sampled_from([0.5, 1.0, 1.7]))
def test_no_batch_starts_after_the_instant_at_which_its_first_query_could_still_be_met(
    candidate: Candidate, arrivals: list[tuple[float, float]], slower: float
) -> None:
    batches, _ = play(candidate, arrivals, slower)
    for batch in batches:
        first_s = min(job.query.deadline_s for job in batch.jobs)
        assert batch.launched_s + candidate.latency_s[batch.rows] <= first_s


@given(PROFILES, ARRIVALS)
def test_at_planned_latencies_every_answer_is_in_time(
    candidate: Candidate, arrivals: list[tuple[float, float]]
) -> None:
    batches, _ = play(candidate, arrivals, 1.0)
    for batch in batches:
        done_s = batch.launched_s + candidate.latency_s[batch.rows]
        assert all(done_s <= job.query.deadline_s for job in batch.jobs)


@given(PROFILES, st.lists(st.floats(0.0, 5.0), min_size=1, max_size=30))
def test_queries_that_never_wait_for_one_another_are_all_met(candidate: Candidate, gaps_s: list[float]) -> None:
    longest_s = candidate.latency_s[-1]
    spaced = [(gap_s + 10 * longest_s, 2 * longest_s + 1e-3) for gap_s in gaps_s]
    assert play(candidate, spaced, 1.0)[1] == []
