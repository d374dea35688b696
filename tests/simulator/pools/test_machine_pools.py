"""Machines in virtual time, by hand: reports every 10 s, 20 s to start, 5 s to load."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.loop.sizing import Sizing
from autoscaler.planners.cocktail.cocktail_planner import CocktailOptions, CocktailPlanner
from catalog.errors import ConfigError
from control_scene import Recorded
from dispatch.balancing.bin_packing import BinPacking
from dispatch.commands import Answer
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import EveryoneChooser
from dispatch.ensemble.member import Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.pools.machine_pools import MachinePools, MachineTimes
from simulator.pools.spot_market import Lease, MachinePool, PriceSeries
from simulator.record import Record

ONE, TWO = Candidate("one", 0.8, (0.0, 0.1, 0.1)), Candidate("two", 0.8, (0.0, 0.1, 0.1))
STEADY = MachinePool("vm", PriceSeries.constant(3600.0), 20.0)
"""A dollar a second."""


def planned(sizes: Mapping[str, int], spare: frozenset[str] = frozenset(), **held: str) -> ClusterPlan:
    """``vm1`` is the first worker that is there, ``new1`` the first to come."""
    names = {"vm": "vm/000", "new": "vm+"}
    holding = {}
    for name, variant in held.items():
        kind, number = name.rstrip("0123456789"), int(name.lstrip("vmnew"))
        holding[f"{names[kind]}{number - 1 if kind == 'vm' else number}"] = frozenset([variant])
    report = SolveReport(Status.HEURISTIC, None, 0.0)
    return ClusterPlan(held=holding, pool_sizes=sizes, spare=spare, report=report)


@dataclass
class Scripted:
    """One plan after the other, the last one for ever."""

    plans: list[ClusterPlan]
    name: str = "scripted"

    def __post_init__(self) -> None:
        self.seen: list[Observation] = []

    def plan(self, observation: Observation) -> ClusterPlan:
        self.seen.append(observation)
        return self.plans[min(len(self.seen), len(self.plans)) - 1]


def dispatched(flow: EnsembleFlow) -> Plan:
    stages = {each.variant: StagePlan({"vm": (each,)}, GreedySelection(), BinPacking()) for each in (ONE, TWO)}
    return Plan(1, {"e": EndpointPlan("e", EndpointLimits(1.0, True, 1000), stages, flow)})


def votes() -> EnsembleFlow:
    members = [Member("one", 0.1, 0.8), Member("two", 0.1, 0.8)]
    return EnsembleFlow(EveryoneChooser(MemberSelector(members)), ClassWeights({"one": 0.8, "two": 0.8}, 2), Ballots(2))


def said(batch: Batch) -> list[dict[str, Any]]:
    return [{"label": np.array([1])} for _ in batch.jobs]


def play(
    initial: ClusterPlan,
    plans: list[ClusterPlan],
    until_s: float,
    pool: MachinePool = STEADY,
    idle_s: float = 0.0,
    times: MachineTimes | None = None,
) -> tuple[Record, MachinePools, Scripted, list[Answer]]:
    """A query at 0.5, 1.5, 2.5... s; every report asks for a plan."""
    planner, answers = Scripted(plans), list[Answer]()
    loop = ControlLoop(10.0, Recorded(), None, initial)
    pools = MachinePools(loop, planner, Sizing(idle_s), [pool], np.random.default_rng(0), times)
    plan = dispatched(votes())
    latency = PlannedLatency(*plan.endpoints.values())
    host = Host(plan, pools.workers, latency, pools, outputs=said, on_answer=answers.append)
    record = host.run({"e": np.arange(0.5, until_s)})
    return record, pools, planner, answers


BOTH = planned({"vm": 2}, new1="one", new2="two")
KEPT = planned({"vm": 2}, vm1="one", vm2="two")


def voters(answers: list[Answer], from_s: float, to_s: float) -> set[str]:
    return {"+".join(sorted(a.votes)) for a in answers if from_s <= a.query.arrival_s < to_s}


def test_the_initial_machines_are_there_and_paid_for_from_the_start() -> None:
    record, pools, _, answers = play(BOTH, [KEPT], 30.0)
    assert pools.leases == [Lease("vm/0000", "vm", 0.0, 0.0), Lease("vm/0001", "vm", 0.0, 0.0)]
    assert voters(answers, 0.0, 30.0) == {"one+two"}
    assert np.all(record.done_s - record.arrival_s == pytest.approx(0.1))


def test_a_machine_that_is_asked_for_serves_when_it_has_started() -> None:
    more = planned({"vm": 2}, vm1="one", new1="two")
    _, pools, planner, answers = play(planned({"vm": 1}, new1="one"), [more, KEPT], 50.0)
    assert pools.leases[1] == Lease("vm/0001", "vm", 10.0, 30.0)
    assert voters(answers, 0.0, 29.0) == {"one"}
    assert voters(answers, 31.0, 50.0) == {"one+two"}
    assert planner.seen[1].devices == {"vm/0000": "vm", "vm/0001": "vm"}, "one that starts is not asked for again"
    assert planner.seen[1].held["vm/0001"] == {"two"}


def test_a_machine_that_takes_no_time_to_start_serves_at_once() -> None:
    instant = MachinePool("vm", PriceSeries.constant(3600.0), 0.0)
    more = planned({"vm": 2}, vm1="one", new1="two")
    _, pools, _, answers = play(planned({"vm": 1}, new1="one"), [more, KEPT], 30.0, pool=instant)
    assert pools.leases[1] == Lease("vm/0001", "vm", 10.0, 10.0)
    assert voters(answers, 0.0, 10.0) == {"one"}
    assert voters(answers, 10.0, 30.0) == {"one+two"}


def test_a_machine_loads_what_it_is_to_hold_and_serves_the_old_meanwhile() -> None:
    _, _, _, answers = play(BOTH, [KEPT, planned({"vm": 2}, vm1="one", vm2="one")], 50.0)
    assert voters(answers, 0.0, 24.0) == {"one+two"}
    assert voters(answers, 26.0, 50.0) == {"one"}


def test_what_is_decided_while_a_machine_loads_takes_as_long_to_load_as_anything() -> None:
    both = replace(planned({"vm": 1}), held={"vm/0000": frozenset(["one", "two"])})
    plans = [planned({"vm": 1}, vm1="two"), both]
    _, _, _, answers = play(planned({"vm": 1}, new1="one"), plans, 60.0, times=MachineTimes(load_s=15.0))
    assert voters(answers, 0.0, 35.0) == {"one"}, "decided at 10 s, and otherwise at 20 s"
    assert voters(answers, 36.0, 60.0) == {"one+two"}


def test_spare_machines_go_after_the_idle_timeout() -> None:
    fewer = planned({"vm": 1}, frozenset(["vm/0001"]), vm1="one", vm2="two")
    _, pools, _, answers = play(BOTH, [fewer] * 4 + [planned({"vm": 1}, vm1="one")], 60.0, idle_s=30.0)
    assert [lease.ended_s for lease in pools.leases] == [inf, 40.0]
    assert voters(answers, 0.0, 39.0) == {"one+two"}
    assert voters(answers, 41.0, 60.0) == {"one"}


def test_while_a_member_is_lost_the_others_answer_and_a_plan_refills_the_pool() -> None:
    lost = MachinePool("vm", PriceSeries(np.array([0.0, 15.2, 16.0]), np.array([1.0, 9.0, 1.0])), 20.0, bid_per_h=2.0)
    others = planned({"vm": 2}, vm3="one", vm4="two")
    record, pools, planner, answers = play(BOTH, [KEPT, BOTH, BOTH, BOTH, others], 60.0, pool=lost)
    assert pools.lost == 2, "the price is above the bid"
    assert [seen.prices_per_h["vm"] for seen in planner.seen[:4]] == [1.0, inf, inf, 1.0]
    assert [lease.asked_s for lease in pools.leases] == [0.0, 0.0, 20.0, 20.0], "none is to be had before"
    assert np.isfinite(record.done_s).sum() == len(answers)
    assert not voters(answers, 17.0, 38.0)
    assert voters(answers, 45.0, 60.0) == {"one+two"}


def test_an_interruption_costs_a_member_and_no_query_with_the_planner_itself() -> None:
    pools = [
        MachinePool("vm", PriceSeries.constant(1.0), 20.0),
        MachinePool("spot", PriceSeries(np.array([0.0, 35.05]), np.array([0.1, 9.0])), 20.0, bid_per_h=0.4),
    ]
    cluster = Cluster(
        (Endpoint("e", 1.0, {"vm": (ONE,), "spot": (TWO,)}),),
        (Pool("vm", price_per_h=1.0, max_workers=9), Pool("spot", price_per_h=0.1, max_workers=9)),
    )
    planner = CocktailPlanner(cluster, CocktailOptions(1.0))
    initial = planner.plan(Observation(0.0, {"e": 1.0}, {}, {}))
    loop = ControlLoop(10.0, Recorded(), None, initial)
    control = MachinePools(loop, planner, Sizing(60.0), pools, np.random.default_rng(0), MachineTimes())
    answers: list[Answer] = []
    stages = {
        "one": StagePlan({"vm": (ONE,)}, GreedySelection(), BinPacking()),
        "two": StagePlan({"spot": (TWO,)}, GreedySelection(), BinPacking()),
    }
    plan = Plan(1, {"e": EndpointPlan("e", EndpointLimits(1.0, True, 1000), stages, votes())})
    host = Host(
        plan, control.workers, PlannedLatency(*cluster.endpoints), control, outputs=said, on_answer=answers.append
    )
    record = host.run({"e": np.arange(0.0, 60.0)})
    assert control.lost == 1
    assert np.all(record.done_s <= record.deadline_s)
    assert voters(answers, 0.0, 35.0) == {"one+two"}
    assert voters(answers, 35.0, 60.0) == {"one"}, "the one that ran when its machine was taken away as well"


def test_stages_are_counted_for_the_planner() -> None:
    _, _, planner, _ = play(BOTH, [KEPT], 40.0)
    assert planner.seen[-1].stage_shares == {"e": {"one": 1.0, "two": 1.0}}


def test_times_that_are_none_are_refused() -> None:
    with pytest.raises(ConfigError, match="report_s is 0"):
        MachineTimes(report_s=0.0)
    with pytest.raises(ConfigError, match="load_s is -1"):
        MachineTimes(load_s=-1.0)
