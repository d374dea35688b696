"""Plans that reckon with neighbours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.placement.interference import Interference, NoInterference
from autoscaler.placement.serving import services
from autoscaler.planners.baselines.everywhere import Everywhere
from autoscaler.planners.neighbours.neighbours import Neighbours
from autoscaler.planners.planner import Planner
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler_scene import SEEDS, cluster, endpoint, even, linear, some_cluster, some_observation
from dispatch.plan import EndpointLimits
from dispatch.worker_info import WorkerInfo
from interference_scene import PairLaw, PressureLaw, on_nodes
from plan_checker import rate

EXACT = ProteusOptions(headroom=1.0, deviations=0.0, tolerance=0.0, room_down_to=1.0, gap=0.0)
APART = cluster(endpoint("a", even("a", 0.9, 10.0)), endpoint("b", even("b", 0.9, 10.0)))
"""Two endpoints with a variant each, of which a worker serves 10 queries/s."""
MIXED = PairLaw({("a", "b"): 1.0, ("b", "a"): 1.0})
"""The two take twice as long beside each other, and as long as ever beside their own kind."""


def proteus(options: ProteusOptions = EXACT) -> Callable[[Cluster], Planner]:
    return lambda cluster: ProteusPlanner(cluster, options)


def planned(
    cluster: Cluster,
    law: Interference,
    demand_qps: Mapping[str, float],
    workers: Mapping[str, WorkerInfo],
    held: Mapping[str, frozenset[str]] | None = None,
    planner_of: Callable[[Cluster], Planner] | None = None,
) -> ClusterPlan:
    observation = Observation(0.0, demand_qps, workers, held or {})
    plan = Neighbours(planner_of or proteus(), cluster, law).plan(observation)
    assert isinstance(plan, ClusterPlan)
    assert plan.shares.keys() <= demand_qps.keys()
    for shares in plan.shares.values():
        assert shares.keys() <= plan.held.keys(), "who has a share holds something"
    return plan


def timeless(plan: ClusterPlan) -> ClusterPlan:
    return replace(plan, report=replace(plan.report, solve_s=0.0))


def by_node(plan: ClusterPlan, workers: Mapping[str, WorkerInfo]) -> list[list[str]]:
    """What the workers of each node hold, sorted."""
    nodes: dict[str, list[str]] = {}
    for worker, info in workers.items():
        nodes.setdefault(info.node, []).append("+".join(sorted(plan.held.get(worker, ()))))
    return sorted(sorted(each) for each in nodes.values())


# -- where nobody disturbs anybody ----------------------------------------------------------------------------


@settings(max_examples=40, derandomize=True)
@given(SEEDS)
def test_on_nodes_with_one_worker_each_the_plan_is_the_planners_own(rng: np.random.Generator) -> None:
    cluster = some_cluster(rng)
    seen = some_observation(rng, cluster)
    for nodes in (dict.fromkeys(seen.workers, ""), {worker: worker for worker in seen.workers}):
        alone = replace(seen, workers={w: info._replace(node=nodes[w]) for w, info in seen.workers.items()})
        law = PressureLaw({})  # which knows nobody, and so is not asked
        found = Neighbours(proteus(ProteusOptions()), cluster, law).plan(alone)
        own = ProteusPlanner(cluster, ProteusOptions()).plan(alone)
        assert isinstance(found, ClusterPlan)
        assert isinstance(own, ClusterPlan)
        assert timeless(found) == timeless(own)


@settings(max_examples=40, derandomize=True)
@given(SEEDS)
def test_without_interference_a_shared_node_changes_nothing(rng: np.random.Generator) -> None:
    cluster = some_cluster(rng)
    seen = some_observation(rng, cluster)
    together = replace(seen, workers={w: info._replace(node="n") for w, info in seen.workers.items()})
    found = Neighbours(proteus(), cluster, NoInterference()).plan(together)
    own = ProteusPlanner(cluster, EXACT).plan(seen)
    assert isinstance(found, ClusterPlan)
    assert isinstance(own, ClusterPlan)
    assert {factor for each in found.slowdowns.values() for factor in each.values()} <= {1.0}
    assert timeless(replace(found, slowdowns={})) == timeless(own)


# -- placement ------------------------------------------------------------------------------------------------


def test_variants_that_harm_each_other_are_placed_on_different_nodes() -> None:
    workers = on_nodes(2, 2)
    plan = planned(APART, MIXED, {"a": 20.0, "b": 20.0}, workers)
    assert by_node(plan, workers) == [["a", "a"], ["b", "b"]]
    assert plan.served_qps == pytest.approx({"a": 20.0, "b": 20.0}, rel=1e-5)
    assert {factor for own in plan.slowdowns.values() for factor in own.values()} == {1.0}
    for name, shares in plan.shares.items():
        assert shares == pytest.approx({worker: 0.5 for worker in workers if plan.held[worker] == {name}}, rel=1e-5)


def test_variants_that_get_on_worse_with_their_own_kind_are_mixed() -> None:
    workers = on_nodes(2, 2)
    own = PairLaw({("a", "a"): 1.0, ("b", "b"): 1.0})
    assert by_node(planned(APART, own, {"a": 20.0, "b": 20.0}, workers), workers) == [["a", "b"], ["a", "b"]]


def test_workers_change_places_only_where_that_saves_more_than_loading_costs() -> None:
    workers = on_nodes(2, 2)
    mixed = {w: frozenset("ab"[number % 2]) for number, w in enumerate(workers)}
    for added, places in ((0.02, mixed), (0.2, {})):
        law = PairLaw({("a", "b"): added, ("b", "a"): added})
        plan = planned(APART, law, {"a": 10.0, "b": 10.0}, workers, mixed)
        # All four half busy: apart they save 4 * 0.5 * added, for two variants to load at 0.05 each.
        assert (plan.held == mixed) == bool(places)


@settings(max_examples=25, derandomize=True)
@given(SEEDS)
def test_a_plan_stays_when_it_is_in_force_and_nothing_else_has_changed(rng: np.random.Generator) -> None:
    names = ("a", "b", "c")
    three = cluster(*(endpoint(name, even(name, 0.9, 10.0)) for name in names))
    law = PressureLaw({name: float(rng.uniform(0, 0.8)) for name in names})
    workers = on_nodes(2, 2, 2)
    demand_qps = {name: float(rng.uniform(2, 9)) for name in names}
    first = planned(three, law, demand_qps, workers)
    second = planned(three, law, demand_qps, workers, first.held)
    assert second.held == first.held
    assert sum(second.served_qps.values()) == pytest.approx(sum(first.served_qps.values()), rel=2e-3)


def test_the_same_question_has_the_same_answer() -> None:
    workers = on_nodes(3, 3)
    law = PressureLaw({"a": 0.4, "b": 0.9})
    one, other = (planned(APART, law, {"a": 25.0, "b": 15.0}, workers) for _ in range(2))
    assert timeless(one) == timeless(other)


# -- capacity -------------------------------------------------------------------------------------------------


def test_a_plan_bears_what_workers_can_beside_their_neighbours() -> None:
    # One node: each of the two takes half as long again, which is 6.7 queries/s.
    plan = planned(APART, PairLaw({("a", "b"): 0.5, ("b", "a"): 0.5}), {"a": 10.0, "b": 5.0}, on_nodes(2))
    assert plan.served_qps == pytest.approx({"a": 10 / 1.5, "b": 5.0}, rel=1e-4)
    assert {factor for own in plan.slowdowns.values() for factor in own.values()} == {1.5}
    assert plan.shares["a"][next(iter(plan.shares["a"]))] == pytest.approx(1 / 1.5, rel=1e-4)
    assert any("on node n0 a takes 1.50 times as long beside b" in words for words in plan.report.explanation)


def test_a_variant_that_is_late_beside_its_neighbour_gives_way_to_one_in_time() -> None:
    # good takes 0.2 s, twice of which is within 0.5 s; beside its like it takes 0.3 s.
    both = cluster(endpoint("a", linear("good", 0.9, 0.0, 0.2), linear("fast", 0.6, 0.0, 0.05), slo_s=0.5))
    workers = on_nodes(2)
    alone = planned(both, NoInterference(), {"a": 9.0}, workers)
    plan = planned(both, PressureLaw({"good": 0.5, "fast": 0.0}), {"a": 9.0}, workers)
    assert by_node(alone, workers) == [["good", "good"]]
    assert by_node(plan, workers) == [["fast", "good"]]
    assert plan.slowdowns == {w: {v: 1.5 if v == "fast" else 1.0} for w, (v,) in plan.held.items()}


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_no_plan_claims_more_than_its_workers_can_beside_each_other(rng: np.random.Generator) -> None:
    cluster = some_cluster(rng, device_types=2, sharing=False)
    seen = some_observation(rng, cluster, most_workers=4, least_qps=1e-3)
    names = sorted({c.variant for e in cluster.endpoints for own in e.candidates.values() for c in own} | {"gone"})
    law = PressureLaw({name: float(rng.uniform(0, 1)) for name in names})
    workers = {w: info._replace(node=f"n{rng.integers(2)}") for w, info in seen.workers.items()}
    plan = planned(cluster, law, seen.demand_qps, workers, seen.held)
    for name, qps in plan.served_qps.items():
        own = next(e for e in cluster.endpoints if e.name == name)
        most = 0.0
        for worker, share in plan.shares.get(name, {}).items():
            (variant,) = plan.held[worker]
            factor = plan.slowdowns.get(worker, {}).get(variant, 1.0)
            slower = Endpoint(name, own.slo_s / factor, own.candidates)
            found = rate(slower, seen.devices[worker], variant)
            most += min(share * seen.demand_qps[name], found.qps / factor if found else 0.0)
        assert qps <= most * (1 + 1e-4) + 1e-9
    limits = {each.name: EndpointLimits(each.slo_s, False, 50) for each in cluster.endpoints}
    for name, service in services(cluster, plan, seen.devices, limits).items():
        for worker in plan.shares.get(name, {}):
            mine = {c.variant for c in service.candidates[seen.devices[worker]]}
            assert mine & plan.held[worker], "who has a share has something to run"
    for worker, variants in plan.held.items():
        mates = [w for w, info in workers.items() if w != worker and info.node == workers[worker].node]
        for variant in variants:
            pressure = sum(law.pressure[v] for w in mates if runs(plan, w) for v in plan.held[w])
            assert plan.slowdowns.get(worker, {}).get(variant, 1.0) == pytest.approx(1.0 + pressure)


def runs(plan: ClusterPlan, worker: str) -> bool:
    return any(shares.get(worker, 0.0) > 0 for shares in plan.shares.values())


def test_a_worker_is_left_idle_where_the_others_bear_more_without_it() -> None:
    one = cluster(endpoint("a", even("a", 0.9, 10.0)))
    plan = planned(one, PairLaw({("a", "a"): 2.0}), {"a": 30.0}, on_nodes(2))
    assert sum(plan.served_qps.values()) == pytest.approx(10.0, rel=1e-4), "two would bear 3.3 queries/s each"
    assert list(plan.shares["a"]) == ["w1"]
    assert plan.pool_sizes == {"cpu": 2}
    assert any(words.startswith("w0 run nothing") for words in plan.report.explanation)
    three = planned(one, PairLaw({("a", "a"): 0.3}), {"a": 30.0}, on_nodes(3))
    assert len(three.shares["a"]) == 3, "3 / 1.6 is more than 2 / 1.3"


def test_a_worker_that_is_left_idle_lets_go_of_what_was_withdrawn() -> None:
    one = cluster(endpoint("a", even("a", 0.9, 10.0)))
    law = PairLaw({("a", "a"): 2.0})
    plan = planned(one, law, {"a": 30.0}, on_nodes(2), {"w0": frozenset({"old", "a"}), "w1": frozenset({"old"})})
    assert len(plan.shares["a"]) == 1
    assert frozenset().union(*plan.held.values()) == {"a"}
    nothing = planned(one, law, {"a": 0.0}, on_nodes(2), {"w0": frozenset({"old"})})
    assert nothing.held == {}


# -- other planners -------------------------------------------------------------------------------------------


def test_endpoints_that_balance_themselves_bear_less_by_the_slowdown() -> None:
    from autoscaler.planners.ipa.ipa_planner import IpaPlanner

    one = Cluster((endpoint("a", linear("a", 0.9, 0.0, 0.1), slo_s=1.0),), (Pool("cpu", max_workers=None),))
    alone = planned(one, NoInterference(), {"a": 12.0}, on_nodes(2), planner_of=IpaPlanner)
    plan = planned(one, PairLaw({("a", "a"): 0.25}), {"a": 12.0}, on_nodes(2), planner_of=IpaPlanner)
    assert plan.capacity_qps["a"] == pytest.approx(alone.capacity_qps["a"] / 1.25)
    assert plan.slowdowns == {worker: {"a": 1.25} for worker in ("w0", "w1")}
    assert plan.stages["a"][""].run_s == pytest.approx(1.25 * alone.stages["a"][""].run_s)


def test_better_variants_that_workers_of_a_pipeline_hold_beside_the_planned_ones_stay() -> None:
    from autoscaler.planners.ipa.ipa_planner import IpaPlanner
    from ipa_planner_scene import CUT, OPTIONS, READ, SUM, pipeline

    read = replace(READ, candidates={"cpu": (*READ.candidates["cpu"], linear("read-xl", 0.97, 0.06, 0.06))})
    one = Cluster((pipeline("strips", CUT, read, SUM, slo_s=0.5),), (Pool("cpu"),))
    law = PairLaw({("cut", "cut"): 0.01})
    plan = planned(
        one,
        law,
        {"strips": 60.0},
        on_nodes(2, 2),
        planner_of=lambda cluster: IpaPlanner(cluster, replace(OPTIONS, upgrades=2)),
    )
    assert plan.slowdowns, "neighbours were reckoned with"
    assert plan.fallback == dict.fromkeys(plan.held, ("read-xl",))


def test_where_every_worker_holds_everything_the_worst_neighbour_counts() -> None:
    law = PairLaw({("a", "b"): 0.5, ("a", "a"): 0.1, ("b", "a"): 0.3})
    plan = planned(APART, law, {"a": 1.0, "b": 1.0}, on_nodes(2), planner_of=Everywhere)
    assert plan.held == {worker: frozenset("ab") for worker in ("w0", "w1")}
    assert plan.slowdowns == {worker: pytest.approx({"a": 1.5, "b": 1.3}) for worker in ("w0", "w1")}


def test_workers_to_come_are_named_as_the_planner_names_them() -> None:
    growing = replace(APART, pools=(Pool("cpu", max_workers=4),))
    workers = on_nodes(2)
    plan = planned(growing, MIXED, {"a": 10.0, "b": 10.0}, workers)
    assert plan.pool_sizes["cpu"] == len(plan.held) <= 4
    assert plan.held.keys() - workers.keys() <= {"cpu+1", "cpu+2"}


@dataclass
class Silent:
    """Has plans until it has none."""

    plans: list[ClusterPlan] = field(default_factory=list)
    name: str = "silent"

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        return self.plans.pop(0) if self.plans else NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0, ("too slow",)))


def test_no_answer_in_the_first_round_is_none_and_in_a_later_one_leaves_the_plan_that_was_found() -> None:
    seen = Observation(0.0, {"a": 10.0, "b": 5.0}, on_nodes(2), {})
    law = PairLaw({("a", "b"): 0.5, ("b", "a"): 0.5})
    none = Neighbours(lambda _: Silent(), APART, law).plan(seen)
    assert none == NoPlan(SolveReport(Status.NO_ANSWER, None, 1.0, ("too slow",)))
    own = ProteusPlanner(APART, EXACT).plan(seen)
    assert isinstance(own, ClusterPlan)
    silent = Silent([own])
    plan = Neighbours(lambda _: silent, APART, law).plan(seen)
    assert isinstance(plan, ClusterPlan)
    assert plan.served_qps == pytest.approx({"a": 10 / 1.5, "b": 5.0}, rel=1e-4), "what it bears, not what it claims"
    assert any("did not settle" in words for words in plan.report.explanation)
