"""A burst between two plans in virtual time: fallback variants come after the plan, serve the burst, and rest again."""

from dataclasses import replace

import numpy as np

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.demand.demand import MovingMaximum
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.placement.serving import serving_plan
from control_scene import Scripted, cluster_plan
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.selection.policy import Candidate
from simulator.control_path import ControlPath, ControlTimes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.record import Record

GOOD = Candidate("good", 1.0, (0.0, 0.25, 0.5))
QUICK = Candidate("quick", 0.75, (0.0, 0.125, 0.1875, 0.25, 0.3125))
RASH = Candidate("rash", 0.5, (0.0, *(0.0625 for _ in range(16))))
CLUSTER = Cluster((Endpoint("e", 1.0, {"cpu": (GOOD, QUICK, RASH)}),), (Pool("cpu"),))
WORKERS = {"w0": "cpu"}


def plan(*fallback: str) -> ClusterPlan:
    made = replace(cluster_plan(w0="good"), shares={"e": {"w0": 1.0}})
    return replace(made, fallback={"w0": fallback}) if fallback else made


def play(first: ClusterPlan, then: ClusterPlan, arrivals_s: list[float], load_s: float = 1.0) -> Record:
    """``then`` is asked for at 2 s and solved at 2.5 s."""
    control = ControlPath(
        ControlLoop(2.0, MovingMaximum(), None, first),
        Scripted([then]),
        lambda made, version: serving_plan(
            CLUSTER, made, WORKERS, version, AdaptiveBatching(), drop_late=False, max_queued_rows=1000
        ),
        WORKERS,
        ControlTimes(report_s=1.0, solve_s=0.5, load_s=load_s),
    )
    host = Host(control.plan, WORKERS, PlannedLatency(*CLUSTER.endpoints), control)
    return host.run({"e": np.array(arrivals_s)})


def ran(record: Record) -> list[str]:
    return [record.batches.variants[v] for v in record.batches.variant]


def violated(record: Record) -> int:
    return int((record.done_s > record.deadline_s).sum())


BURST = [0.0, *[0.5] * 12, 3.0]


def test_a_burst_runs_on_a_fallback_variant_and_the_planned_one_returns() -> None:
    with_them, without = play(plan("rash", "quick"), plan(), BURST), play(plan(), plan(), BURST)
    assert violated(with_them) == 0
    assert violated(without) > 4
    assert ran(with_them) == ["good", "good", "rash", "good"], "two were launched before the others came"


def test_a_small_burst_takes_the_more_accurate_fallback() -> None:
    record = play(plan("rash", "quick"), plan(), [*[0.5] * 6, 3.0])
    assert violated(record) == 0
    assert set(ran(record)) == {"quick", "good"}


def test_fallbacks_are_loaded_one_after_the_other_once_the_plan_is_in_force() -> None:
    # in force at 2.5, the first is there a second later, the second one more second later
    used = {at_s: ran(play(plan(), plan("rash", "quick"), [0.0, *[at_s] * 12])) for at_s in (2.75, 3.5)}
    assert ("rash" in used[2.75], "rash" in used[3.5]) == (False, True)
    used = {at_s: ran(play(plan(), plan("rash", "quick"), [0.0, *[at_s] * 5])) for at_s in (3.5, 4.5)}
    assert ("quick" in used[3.5], "quick" in used[4.5]) == (False, True)


def test_a_plan_without_them_lets_go_of_them() -> None:
    record = play(plan("rash"), plan(), [0.0, *[3.0] * 12])
    assert set(ran(record)) == {"good"}
