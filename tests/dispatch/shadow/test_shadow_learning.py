"""What is learned of a worker from its shadow runs: as of any batch of that length, beside the load that there is."""

from dataclasses import replace
from typing import Any

import length_scene
import pytest
from length_scene import LONGEST, TYPICAL

from dispatch.commands import Launch
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.estimator import LatencyEstimator
from dispatch.load.known import KnownLoad
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.policy import Candidate
from dispatch.shadow.rules import ShadowRules
from dispatch.worker_info import WorkerInfo
from dispatch_scene import launched

PATH_S = 0.001
LOAD_QPS = 6.0
FAST = Candidate("fast", 0.7, (0.0, 0.002, 0.003), path_s=PATH_S)
SLOW = Candidate("slow", 0.9, (0.0, 0.011, 0.021), path_s=PATH_S)


class Noting(LatencyEstimator):
    """Notes the variant, the length ratio and the load of each batch that it learns of."""

    def __init__(self) -> None:
        super().__init__(PATH_S)
        self.seen: list[tuple[str, float, float]] = []

    def on_batch(self, worker: str, candidate: Candidate, *args: Any) -> LatencyEstimate | None:
        *_, load_qps, _, ratio, _ = args
        self.seen.append((candidate.variant, ratio, load_qps))
        return super().on_batch(worker, candidate, *args)


def scene(latency: LatencyEstimator | None, slo_s: float = 1.0) -> Dispatcher:
    """The fast variant answers, and every query is compared with the slow one."""
    made = length_scene.endpoint((SLOW, FAST), slo_s=slo_s, selection=FixedSelection("fast"))
    made = made.with_stage(load=KnownLoad([0.0], [LOAD_QPS]))
    plan = Plan(1, {"spans": replace(made, shadow=ShadowRules(1.0, Ballots(10)))})
    d = Dispatcher(plan, latency)
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    return d


def shadow_of(d: Dispatcher, query_id: int, length: int, slo_s: float = 1.0) -> list[Batch]:
    """The shadow run of a query of this length, which takes as long as the profile says."""
    now_s = float(query_id)
    (real,) = launched(d.on_arrival(Query(query_id, "spans", now_s, now_s + slo_s, length=length), now_s))
    run_s = FAST.runs_s[1] * length / TYPICAL
    commands = d.on_done(real.worker, real.id, [{"label": [3]}], run_s, now_s + run_s + PATH_S)
    return [each.batch for each in commands if isinstance(each, Launch)]


def test_a_shadow_run_of_a_long_query_is_compared_with_the_profile_of_that_length() -> None:
    latency = Noting()
    d = scene(latency)
    for query_id in range(1, 51):
        (shadow,) = shadow_of(d, query_id, LONGEST)
        run_s = SLOW.runs_s[1] * LONGEST / TYPICAL
        d.on_done(shadow.worker, shadow.id, [{"label": [3]}], run_s, shadow.launched_s + run_s + PATH_S)
    assert {(variant, ratio) for variant, ratio, _ in latency.seen} == {
        ("fast", LONGEST / TYPICAL),
        ("slow", LONGEST / TYPICAL),
    }
    assert latency.estimate("w1").of_one_length.run_factor == pytest.approx(1.0, abs=0.02)


def test_a_shadow_run_is_learned_of_beside_the_load_that_there_is() -> None:
    latency = Noting()
    d = scene(latency)
    (shadow,) = shadow_of(d, 1, TYPICAL)
    d.on_done(shadow.worker, shadow.id, [{"label": [3]}], 0.01, shadow.launched_s + 0.011)
    assert latency.seen == [("fast", 1.0, LOAD_QPS), ("slow", 1.0, LOAD_QPS)]


def test_a_long_query_is_compared_only_where_there_is_time_for_one_of_its_length() -> None:
    slo_s = 0.035  # the slow variant takes 0.011 s for a query of the typical length, 0.041 s for the longest
    assert [len(shadow_of(scene(None, slo_s), 1, length, slo_s)) for length in (TYPICAL, LONGEST)] == [1, 0]


def test_a_shadow_run_for_an_endpoint_that_is_gone_teaches_nothing() -> None:
    latency = Noting()
    d = scene(latency)
    (shadow,) = shadow_of(d, 1, TYPICAL)
    d.apply(Plan(2, {}), 1.5)
    assert d.on_done(shadow.worker, shadow.id, [{"label": [3]}], 0.01, 2.0) == []
    assert [variant for variant, _, _ in latency.seen] == ["fast"]
