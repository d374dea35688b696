"""What a routing table makes of the plan in force."""

from collections import Counter
from dataclasses import replace

import pytest

from deployments.messages.control import EndpointTerms
from deployments.router.live_plan import live_plan
from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.plan import Plan
from dispatch.selection.ramsis.policy import RamsisSelection
from router_scene import DOUBLE, TRIPLE, by_tables, digits, routing_table, terms

BUILT = Plan(4, {"digits": digits()})
SHARES = {"w1": 0.75, "w2": 0.25}
SHARED = terms({"pool": (TRIPLE,)}, SHARES)


def picks(plan: Plan, number: int) -> list[int]:
    balancer = plan.endpoints["digits"].balancer
    assert balancer is not None
    loads = [WorkerLoad("w1"), WorkerLoad("w2")]
    return [balancer.pick(loads, 0.0) for _ in range(number)]


def test_terms_replace_objective_bounds_and_candidates_in_a_newer_plan() -> None:
    made = replace(terms({"pool": (TRIPLE,)}, slo_s=0.4, drop_late=True), max_queued_rows=7)
    plan = live_plan(BUILT, routing_table(1, {}, endpoint=made), None)
    endpoint = plan.endpoints["digits"]
    assert plan.version == 5
    assert (endpoint.slo_s, endpoint.drop_late, endpoint.max_queued_rows) == (0.4, True, 7)
    assert endpoint.offered("pool", "cpu") == (TRIPLE,)
    assert endpoint.selection is BUILT.endpoints["digits"].selection


def test_an_endpoint_without_terms_stays_as_it_was_built() -> None:
    both = Plan(4, {**BUILT.endpoints, "other": replace(digits(), name="other")})
    plan = live_plan(both, routing_table(1, {}, endpoint=SHARED), None)
    assert plan.endpoints["other"] is both.endpoints["other"]
    assert plan.endpoints["digits"] is not both.endpoints["digits"]


def test_the_built_balancer_decides_where_terms_have_no_shares() -> None:
    plan = live_plan(BUILT, routing_table(1, {}, endpoint=terms()), None)
    assert plan.endpoints["digits"].balancer is BUILT.endpoints["digits"].balancer


def test_shares_divide_the_queries() -> None:
    plan = live_plan(BUILT, routing_table(1, {}, endpoint=SHARED), None)
    assert Counter(picks(plan, 400)) == {0: 300, 1: 100}


def test_kinds_of_workers_are_one_share_and_the_least_loaded_of_a_kind_is_picked() -> None:
    alike = replace(SHARED, kinds={"w1": "kind", "w2": "kind"})
    balancer = live_plan(BUILT, routing_table(1, {}, endpoint=alike), None).endpoints["digits"].balancer
    assert balancer is not None
    loads = [WorkerLoad("w1"), WorkerLoad("w2")]
    loads[0].queued_rows = 3
    assert [balancer.pick(loads, 0.0) for _ in range(10)] == [1] * 10


def test_the_same_shares_go_on_where_their_turns_stood() -> None:
    first = routing_table(1, {}, endpoint=SHARED)
    again = routing_table(2, {}, endpoint=replace(SHARED, shares=dict(SHARES), slo_s=0.9))
    plan = live_plan(BUILT, first, None)
    alone = picks(live_plan(BUILT, first, None), 8)
    begun = picks(plan, 3)
    after = live_plan(plan, again, first)
    assert begun + picks(after, 5) == alone
    assert after.endpoints["digits"].slo_s == 0.9


@pytest.mark.parametrize("changed", [{"shares": {"w1": 0.1, "w2": 0.9}}, {"kinds": {"w1": "k", "w2": "k"}}])
def test_other_shares_or_kinds_begin_anew(changed: dict[str, dict[str, float]]) -> None:
    first = routing_table(1, {}, endpoint=SHARED)
    plan = live_plan(BUILT, first, None)
    after = live_plan(plan, routing_table(2, {}, endpoint=replace(SHARED, **changed)), first)
    assert isinstance(after.endpoints["digits"].balancer, WeightedShares)
    assert after.endpoints["digits"].balancer is not plan.endpoints["digits"].balancer


def test_what_was_learned_of_the_load_survives() -> None:
    load = BUILT.endpoints["digits"].load
    for number in range(100):
        load.on_arrival(number / 50)
    learned_qps = load.load_qps(2.0)
    plan = live_plan(BUILT, routing_table(1, {}, endpoint=SHARED), None)
    plan = live_plan(plan, routing_table(2, {}, endpoint=terms({"pool": (DOUBLE,)}, {"w3": 1.0})), None)
    assert learned_qps > 10.0
    assert plan.endpoints["digits"].load.load_qps(2.0) == learned_qps


BY_TABLES = Plan(1, {"digits": by_tables()})
OFFERED = {"cpu": (DOUBLE, TRIPLE)}


def test_endpoints_by_tables_keep_tables_and_balancer_and_get_the_bounds_of_their_queue() -> None:
    built = BY_TABLES.endpoints["digits"]
    made = replace(terms(OFFERED, drop_late=True), max_queued_rows=7)
    endpoint = live_plan(BY_TABLES, routing_table(1, {}, endpoint=made), None).endpoints["digits"]
    assert (endpoint.slo_s, endpoint.candidates, endpoint.balancer) == (0.1, OFFERED, built.balancer)
    assert endpoint.selection is built.selection
    assert (endpoint.drop_late, endpoint.max_queued_rows) == (True, 7)


def test_the_first_directive_may_offer_other_candidates_than_were_built_and_the_tables_stay() -> None:
    endpoint = live_plan(BY_TABLES, routing_table(1, {}, endpoint=terms({"cpu": (DOUBLE,)})), None).endpoints["digits"]
    assert endpoint.candidates == {"cpu": (DOUBLE,)}
    assert endpoint.selection is BY_TABLES.endpoints["digits"].selection


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, terms(OFFERED, slo_s=0.7)),
        (terms(OFFERED), terms(OFFERED, slo_s=0.7)),
        (terms(OFFERED), terms({"cpu": (DOUBLE,)})),
    ],
    ids=["another objective at first", "another objective", "another candidate"],
)
def test_terms_that_tables_were_not_made_for_are_served_without(
    before: EndpointTerms | None, after: EndpointTerms
) -> None:
    plan, followed = BY_TABLES, None
    if before is not None:
        followed = routing_table(1, {}, endpoint=before)
        plan = live_plan(plan, followed, None)
        assert plan.endpoints["digits"].selection is BY_TABLES.endpoints["digits"].selection
    endpoint = live_plan(plan, routing_table(2, {}, endpoint=after), followed).endpoints["digits"]
    assert (endpoint.slo_s, endpoint.candidates) == (after.slo_s, after.candidates)
    assert endpoint.selection == RamsisSelection()
    assert isinstance(endpoint.balancer, RoundRobin)
    assert endpoint.balancer is not BY_TABLES.endpoints["digits"].balancer, "its group was that of the tables"
