"""Which ends of queries are violations for the planner, and for the promise."""

import pytest

from catalog.errors import AccordError, DeadlineMissed, Infeasible, RateLimited, Saturated
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


@pytest.mark.parametrize(
    ("error", "refused"),
    [(Infeasible("too much waits"), 1), (Saturated("the queue is full"), 1), (DeadlineMissed("it waited"), 0)],
)
def test_what_is_refused_at_once_is_told_from_what_expires(error: AccordError, refused: int) -> None:
    observer = QueryObserver(["e"], 0.0)
    for allowed_s in (SLO_S, 0.01):
        query = Query(1, "e", 10.0, 10.0 + allowed_s)
        observer.on_arrival(query)
        observer.on_reject(Reject(query, error), SLO_S)
    observer.on_refused_in_front("e", 3, error)
    report = observer.meter.report(1, RouterState("r1", 0, frozenset()))
    assert (report.arrived, report.refused.get("e", 0)) == ({"e": 5}, 2 * refused + 3)
    assert report.expired.get("e", 0) == 2 * (1 - refused)
    after = observer.meter.report(2, RouterState("r1", 0, frozenset()))
    assert after.refused == after.expired == {}


def test_the_controller_hears_of_rows_of_which_a_query_may_have_several() -> None:
    observer = QueryObserver(["e"], 0.0)
    queries = [Query(number, "e", 10.0, 10.0 + SLO_S, rows=8) for number in range(4)]
    for query in queries:
        observer.on_arrival(query)
    observer.on_sent_on(queries[3])
    observer.on_answer(Answer(queries[0], "v", 0.9, {}, 8, 10.0, 10.01, 0.01), SLO_S, 0.0)
    observer.on_answer(Answer(queries[1], "v", 0.9, {}, 8, 10.0, 10.2, 0.2), SLO_S, 0.0)
    observer.on_reject(Reject(queries[2], Saturated("the queue is full")), SLO_S)
    observer.on_refused_in_front("e", 2, Saturated("too much waits"))
    report = observer.meter.report(1, RouterState("r1", 0, frozenset()))
    assert (report.arrived, report.violated, report.refused) == ({"e": 40}, {"e": 32}, {"e": 24})
    assert observer.stats["e"].arrived == 5, "people are told of queries"


def test_what_is_refused_undecoded_counts_for_as_many_rows_as_decoded_queries_have_whatever_limited_clients_send() -> (
    None
):
    observer = QueryObserver(["e"], 0.0)
    limited, too_much = RateLimited("slower"), Saturated("too much waits")
    for number in range(10):
        observer.on_limited("e", limited)
        observer.on_refused_in_front("e", 1, too_much)
        observer.on_turned_away(Reject(Query(number, "e", 10.0, 10.0 + SLO_S), too_much), SLO_S)
    report = observer.meter.report(1, RouterState("r1", 0, frozenset()))
    assert report.arrived == report.violated == report.refused == {"e": 20}, "one each before any was decoded"
    for number in range(2):
        observer.on_arrival(Query(number, "e", 10.0, 10.0 + SLO_S, rows=8))
    for number in range(10):
        observer.on_limited("e", limited)
        observer.on_refused_in_front("e", 1, too_much)
        observer.on_turned_away(Reject(Query(number, "e", 10.0, 10.0 + SLO_S), too_much), SLO_S)
    report = observer.meter.report(2, RouterState("r1", 0, frozenset()))
    assert (report.arrived, report.violated, report.refused) == ({"e": 176}, {"e": 160}, {"e": 160})
    assert observer.stats["e"].arrived == 62, "people are told of queries, limited ones among them"
