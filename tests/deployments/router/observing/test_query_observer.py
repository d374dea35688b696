"""Which ends of queries are violations for the planner, and for the promise."""

import pytest

from catalog.errors import DeadlineMissed
from deployments.messages.control import RouterState
from deployments.router.observing.query_observer import QueryObserver
from dispatch.commands import Answer, Reject
from dispatch.query import Query

SLO_S = 0.1


def violated(observer: QueryObserver) -> int:
    return observer.meter.report(1, RouterState("r1", 0, frozenset())).violated.get("e", 0)


@pytest.mark.parametrize(
    ("allowed_s", "took_s", "violations"),
    [
        (SLO_S, 0.05, 0),
        (SLO_S, 0.15, 1),
        (0.02, 0.05, 0),  # late for a client that wants more than the endpoint promises
        (0.02, 0.15, 1),
        (0.5, 0.15, 0),
    ],
)
def test_an_answer_violates_where_it_takes_longer_than_objective_and_client_allow(
    allowed_s: float, took_s: float, violations: int
) -> None:
    observer = QueryObserver(["e"], 0.0)
    query = Query(1, "e", 10.0, 10.0 + allowed_s)
    observer.on_answer(Answer(query, "v", 0.9, {}, 1, 10.0, 10.0 + took_s, took_s), SLO_S, 0.0)
    assert violated(observer) == violations


@pytest.mark.parametrize(("allowed_s", "violations"), [(SLO_S, 1), (0.5, 1), (0.02, 0)])
def test_a_refused_query_violates_unless_it_asked_for_less_time_than_the_objective(
    allowed_s: float, violations: int
) -> None:
    observer = QueryObserver(["e"], 0.0)
    observer.on_reject(Reject(Query(1, "e", 10.0, 10.0 + allowed_s), DeadlineMissed("late")), SLO_S)
    assert violated(observer) == violations
    assert observer.stats["e"].rejected.total() == 1
