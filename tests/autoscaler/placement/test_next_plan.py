"""What services make of the plan in force."""

from collections import Counter
from dataclasses import replace

import pytest

from autoscaler.placement.serving import Service, next_plan
from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.overflow_shares import OverflowShares
from dispatch.balancing.registry import create_balancer
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import EveryoneChooser
from dispatch.ensemble.member import Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.worker_info import WorkerInfo
from router_scene import DOUBLE, TRIPLE, by_tables, digits, service

BUILT = Plan(4, {"digits": digits()})
SHARES = {"w1": 0.75, "w2": 0.25}
SHARED = service({"pool": (TRIPLE,)}, SHARES)


def bounded(given: Service) -> Service:
    return replace(given, limits=replace(given.limits, max_queued_rows=7))


def picks(plan: Plan, number: int) -> list[int]:
    balancer = plan.endpoints["digits"].stage.balancer
    assert balancer is not None
    loads = [WorkerLoad("w1"), WorkerLoad("w2")]
    return [balancer.pick(loads, 0.0) for _ in range(number)]


def test_a_service_replaces_objective_bounds_and_candidates_in_a_newer_plan() -> None:
    made = bounded(service({"pool": (TRIPLE,)}, slo_s=0.4, drop_late=True))
    plan = next_plan(BUILT, {"digits": made}, {})
    endpoint = plan.endpoints["digits"]
    assert plan.version == 5
    assert endpoint.limits == EndpointLimits(0.4, True, 7)
    assert endpoint.stage.offered(WorkerInfo("cpu", "pool")) == (TRIPLE,)
    assert endpoint.stage.selection is BUILT.endpoints["digits"].stage.selection


def test_an_endpoint_without_a_service_stays_as_it_was_built() -> None:
    both = Plan(4, {**BUILT.endpoints, "other": replace(digits(), name="other")})
    plan = next_plan(both, {"digits": SHARED}, {})
    assert plan.endpoints["other"] is both.endpoints["other"]
    assert plan.endpoints["digits"] is not both.endpoints["digits"]


def test_the_built_balancer_decides_where_a_service_has_no_shares() -> None:
    plan = next_plan(BUILT, {"digits": service()}, {})
    assert plan.endpoints["digits"].stage.balancer is BUILT.endpoints["digits"].stage.balancer


def test_shares_divide_the_queries() -> None:
    plan = next_plan(BUILT, {"digits": SHARED}, {})
    assert Counter(picks(plan, 400)) == {0: 300, 1: 100}


def test_kinds_of_workers_are_one_share_and_the_least_loaded_of_a_kind_is_picked() -> None:
    alike = replace(SHARED, kinds={"w1": "kind", "w2": "kind"})
    balancer = next_plan(BUILT, {"digits": alike}, {}).endpoints["digits"].stage.balancer
    assert balancer is not None
    loads = [WorkerLoad("w1"), WorkerLoad("w2")]
    loads[0].queued_rows = 3
    assert [balancer.pick(loads, 0.0) for _ in range(10)] == [1] * 10


def test_the_same_shares_go_on_where_their_turns_stood() -> None:
    first = {"digits": SHARED}
    again = {"digits": replace(SHARED, shares=dict(SHARES), limits=replace(SHARED.limits, slo_s=0.9))}
    plan = next_plan(BUILT, first, {})
    alone = picks(next_plan(BUILT, first, {}), 8)
    begun = picks(plan, 3)
    after = next_plan(plan, again, first)
    assert begun + picks(after, 5) == alone
    assert after.endpoints["digits"].slo_s == 0.9


@pytest.mark.parametrize("changed", [{"shares": {"w1": 0.1, "w2": 0.9}}, {"kinds": {"w1": "k", "w2": "k"}}])
def test_other_shares_or_kinds_begin_anew(changed: dict[str, dict[str, float]]) -> None:
    first = {"digits": SHARED}
    plan = next_plan(BUILT, first, {})
    after = next_plan(plan, {"digits": replace(SHARED, **changed)}, first)
    assert isinstance(after.endpoints["digits"].stage.balancer, WeightedShares)
    assert after.endpoints["digits"].stage.balancer is not plan.endpoints["digits"].stage.balancer


def test_with_fallback_variants_what_is_too_much_for_one_goes_to_others() -> None:
    overflowing = {"digits": replace(SHARED, overflow=True)}
    plan = next_plan(BUILT, overflowing, {})
    balancer = plan.endpoints["digits"].stage.balancer
    assert isinstance(balancer, OverflowShares)
    assert balancer.pick([WorkerLoad("w1", 9, 0, 3), WorkerLoad("w2", 0, 0, 3)], 0.0) == 1
    assert next_plan(plan, overflowing, overflowing).endpoints["digits"].stage.balancer is balancer
    without = next_plan(plan, {"digits": SHARED}, overflowing).endpoints["digits"].stage.balancer
    assert type(without) is WeightedShares


def test_endpoints_by_tables_get_shares_where_a_planner_gives_some() -> None:
    endpoint = next_plan(BY_TABLES, {"digits": service(OFFERED, SHARES)}, {}).endpoints["digits"]
    assert isinstance(endpoint.stage.selection, RamsisSelection)
    assert isinstance(endpoint.stage.balancer, WeightedShares)


def test_what_was_learned_of_the_load_survives() -> None:
    load = BUILT.endpoints["digits"].stage.load
    for number in range(100):
        load.on_arrival(number / 50)
    learned_qps = load.load_qps(2.0)
    plan = next_plan(BUILT, {"digits": SHARED}, {})
    plan = next_plan(plan, {"digits": service({"pool": (DOUBLE,)}, {"w3": 1.0})}, {})
    assert learned_qps > 10.0
    assert plan.endpoints["digits"].stage.load.load_qps(2.0) == learned_qps


BY_TABLES = Plan(1, {"digits": by_tables()})
OFFERED = {"cpu": (DOUBLE, TRIPLE)}


def test_endpoints_by_tables_keep_tables_and_balancer_and_get_the_bounds_of_their_queue() -> None:
    built = BY_TABLES.endpoints["digits"]
    made = bounded(service(OFFERED, drop_late=True))
    endpoint = next_plan(BY_TABLES, {"digits": made}, {}).endpoints["digits"]
    assert (endpoint.slo_s, endpoint.stage.candidates, endpoint.stage.balancer) == (0.1, OFFERED, built.stage.balancer)
    assert endpoint.stage.selection is built.stage.selection
    assert endpoint.limits == EndpointLimits(0.1, True, 7)


def test_the_first_service_may_offer_other_candidates_than_were_built_and_the_tables_stay() -> None:
    endpoint = next_plan(BY_TABLES, {"digits": service({"cpu": (DOUBLE,)})}, {}).endpoints["digits"]
    assert endpoint.stage.candidates == {"cpu": (DOUBLE,)}
    assert endpoint.stage.selection is BY_TABLES.endpoints["digits"].stage.selection


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, service(OFFERED, slo_s=0.7)),
        (service(OFFERED), service(OFFERED, slo_s=0.7)),
        (service(OFFERED), service({"cpu": (DOUBLE,)})),
    ],
    ids=["another objective at first", "another objective", "another candidate"],
)
def test_services_that_tables_were_not_made_for_are_served_without(before: Service | None, after: Service) -> None:
    plan, followed = BY_TABLES, {}
    if before is not None:
        followed = {"digits": before}
        plan = next_plan(plan, followed, {})
        assert plan.endpoints["digits"].stage.selection is BY_TABLES.endpoints["digits"].stage.selection
    endpoint = next_plan(plan, {"digits": after}, followed).endpoints["digits"]
    assert (endpoint.slo_s, endpoint.stage.candidates) == (after.limits.slo_s, after.candidates)
    assert endpoint.stage.selection == RamsisSelection()
    assert isinstance(endpoint.stage.balancer, RoundRobin)
    assert endpoint.stage.balancer is not BY_TABLES.endpoints["digits"].stage.balancer, (
        "its group was that of the tables"
    )


OTHER = replace(DOUBLE, variant="other")


def voted_on(*members: Candidate) -> Plan:
    """A stage for each member, as an ensemble has them."""
    stages = {
        member.variant: StagePlan({"cpu": (member,)}, GreedySelection(), create_balancer("shortest_queue"))
        for member in members
    }
    accuracies = {member.variant: member.accuracy for member in members}
    everyone = EveryoneChooser(MemberSelector([Member(name, 0.01, each) for name, each in accuracies.items()]))
    flow = EnsembleFlow(everyone, ClassWeights(accuracies, 3), Ballots(3))
    return Plan(4, {"digits": EndpointPlan("digits", EndpointLimits(0.1, False, 100), stages, flow)})


@pytest.mark.parametrize("members", [(DOUBLE, TRIPLE), (DOUBLE,)])
def test_members_of_an_ensemble_keep_their_stage_balancer_load_and_flow(members: tuple[Candidate, ...]) -> None:
    built = voted_on(*members)
    faster = replace(DOUBLE, latency_s=tuple(0.5 * each for each in DOUBLE.latency_s))
    made = bounded(service({"pool": (faster, TRIPLE, OTHER), "cpu": (OTHER,)}, SHARES, slo_s=0.4, drop_late=True))
    before, after = built.endpoints["digits"], next_plan(built, {"digits": made}, {}).endpoints["digits"]
    assert after.limits == EndpointLimits(0.4, True, 7)
    assert after.flow is before.flow
    assert after.selection == "ensemble"
    assert list(after.stages) == [member.variant for member in members]
    for name, stage in after.stages.items():
        assert stage.candidates == {"pool": (faster if name == "double" else TRIPLE,), "cpu": ()}
        assert stage.selection is before.stages[name].selection
        assert stage.balancer is before.stages[name].balancer, "shares are of queries, which each member gets"
        assert stage.load is before.stages[name].load


def test_a_member_that_the_plan_does_not_offer_any_more_has_no_worker_and_comes_back() -> None:
    built = voted_on(DOUBLE, TRIPLE)
    without, again = service({"pool": (TRIPLE,)}), service({"pool": (DOUBLE, TRIPLE)})
    dropped = next_plan(built, {"digits": without}, {})
    worker = WorkerInfo("cpu", "pool")
    assert dropped.endpoints["digits"].stages["double"].offered(worker) == ()
    assert dropped.endpoints["digits"].stages["triple"].offered(worker) == (TRIPLE,)
    back = next_plan(dropped, {"digits": again}, {"digits": without}).endpoints["digits"]
    assert back.stages["double"].offered(worker) == (DOUBLE,)
    assert back.candidates == {"pool": (DOUBLE, TRIPLE)}
