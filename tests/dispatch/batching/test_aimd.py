"""A limit that grows by one and shrinks by a tenth."""

import pytest

from dispatch.batching.aimd import AdditiveIncrease
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.policy import Candidate, Choice, Outcome, QueueView
from dispatch_scene import FAST, SLOW, dispatcher, finish, launched, query

CANDIDATE = Candidate("v", 0.9, (0.0, *[1.0] * 20))
LATE, OVERRAN, IN_TIME = Outcome(True, False), Outcome(True, True), Outcome(False, False)


def choose(policy: AdditiveIncrease, rows: int, state: float | None, last: Outcome | None) -> Choice:
    return policy.choose(QueueView(10.0, rows, 9.0, (CANDIDATE,), state=state, last=last))


@pytest.mark.parametrize(
    ("rows", "state", "last", "expected"),
    [
        (9, None, None, Choice("v", 1, 1.0)),
        (9, 1.0, IN_TIME, Choice("v", 2, 2.0)),
        (1, 4.0, IN_TIME, Choice("v", 1, 5.0)),
        (99, 20.0, IN_TIME, Choice("v", 20, 20.0)),
        (99, 10.0, OVERRAN, Choice("v", 9, 9.0)),
        (99, 10.0, LATE, Choice("v", 11, 11.0)),
        (99, 10.0, None, Choice("v", 10, 10.0)),
        (99, 1.05, OVERRAN, Choice("v", 1, 1.0)),
    ],
)
def test_the_limit(rows: int, state: float | None, last: Outcome | None, expected: Choice) -> None:
    assert choose(AdditiveIncrease(), rows, state, last) == expected


@pytest.mark.parametrize(("last", "expected"), [(None, 4), (OVERRAN, 3), (IN_TIME, 4)])
def test_no_batch_is_larger_than_those_of_the_variant_that_runs_it(last: Outcome | None, expected: int) -> None:
    """Another variant, with larger batches, has run while this one failed and was avoided."""
    small = Candidate("small", 0.95, (0.0, *[1.0] * 4))
    choice = AdditiveIncrease().choose(QueueView(10.0, 99, 9.0, (small, CANDIDATE), state=17.0, last=last))
    assert (choice.variant, choice.rows) == ("small", expected)


def test_it_may_begin_with_full_batches() -> None:
    assert choose(AdditiveIncrease(begins_full=True), 99, None, None) == Choice("v", 20, 20.0)
    assert choose(AdditiveIncrease(begins_full=True), 99, 20.0, OVERRAN) == Choice("v", 18, 18.0)


def test_on_timeouts_a_wait_in_the_queue_shrinks_it_too() -> None:
    assert choose(AdditiveIncrease(on_timeouts=True), 99, 10.0, LATE) == Choice("v", 9, 9.0)
    assert choose(AdditiveIncrease(on_timeouts=True), 99, 10.0, IN_TIME) == Choice("v", 11, 11.0)


def test_it_feels_its_way_through_the_dispatcher() -> None:
    d = dispatcher(
        EndpointPlan.of_stage(
            "e", StagePlan({"cpu": (FAST, SLOW)}, AdditiveIncrease(), None), slo_s=0.1, max_queued_rows=100
        )
    )
    now_s = 0.0
    (batch,) = launched(d.on_arrival(query(0, name="e", slo_s=1.0), 0.0))
    for number in range(1, 30):
        d.on_arrival(query(number, name="e", slo_s=1.0), 0.0)
    rows = []
    for run_s in (0.1, 0.1, 1.2, 0.1):
        rows.append(batch.rows)
        now_s += run_s
        (batch,) = launched(finish(d, batch, now_s))
    assert rows == [1, 2, 3, 2]  # 3 rows overran, and a tenth less than 3 leaves room for 2
    assert batch.rows == 3
