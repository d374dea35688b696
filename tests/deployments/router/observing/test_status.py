"""What a router says of itself: counts, promises, latency per worker."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from catalog.errors import NoWorker
from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.router.feedback.labels import Labels
from dispatch.balancing.registry import create_balancer
from dispatch.ensemble.ballots import Ballots
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.promise.guarantee import BUCKET_S, TARGET_RATE, WINDOW_S
from dispatch.selection.greedy import GreedySelection
from ensemble_scene import CLASSES, flow, one_wave
from router_scene import BATCH_S, DOUBLE, ME, TRIPLE, Scene, by_tables, now_s, routing, virtually


@virtually
async def test_the_status_counts_what_happened() -> None:
    async with routing() as scene:
        scene.pool.failed = {"other": "no such file"}
        await scene.join("w1")
        await asyncio.gather(*(scene.ask(float(i)) for i in range(10)))
        status: dict[str, Any] = scene.router.status()
        assert (status["routers"], status["plan_version"]) == ([ME], 1)
        seen = status["endpoints"]["digits"]
        assert (seen["arrived"], seen["answered"], seen["rejected"], seen["violations"]) == (10, 10, 0, 0)
        assert seen["variants"] == {"double": {"queries": 10, "share": 1.0, "expected_accuracy": 0.9}}
        assert seen["latency_ms"]["p50"] <= seen["latency_ms"]["p99"]
        assert status["workers"]["w1"]["loaded"] == ["double", "triple"]
        assert status["workers"]["w1"]["failed"] == {"other": "no such file"}


@virtually
async def test_the_status_sets_promises_beside_what_happened() -> None:
    async with routing() as scene:
        await scene.join("w1")
        plan = scene.router.plan
        scene.router.apply(Plan(plan.version + 1, {"digits": by_tables()}))
        await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(10)))
        assert scene.router.status()["endpoints"]["digits"]["anticipated_qps"] > 0
        await asyncio.sleep(BUCKET_S)
        seen = scene.router.status()["endpoints"]["digits"]
        assert seen["selection"] == "ramsis"
        assert seen["transport_ms"]["p99"] >= seen["transport_ms"]["p50"]
        assert seen["tables"] == {"state": "none", "made": 0, "wanted": 0, "query_rows": 1}, "nobody makes any here"
        assert seen["feedback"] == {"slack_factor": 1.0, "reason": None}
        guarantee = seen["guarantee"]
        assert guarantee["window_s"] == WINDOW_S
        assert guarantee["kept"] == "too early", "ten queries in time do not tell 1% from 2%"
        assert guarantee["promised_violation_rate"] == pytest.approx(TARGET_RATE)
        assert guarantee["observed_accuracy"] == pytest.approx(0.8)
        assert (guarantee["observed_violation_rate"], guarantee["client_violation_rate"]) == (0.0, 0.0)
        assert (guarantee["queries"], guarantee["violations"], guarantee["broken"]) == (10, 0, False)


@virtually
async def test_a_promise_is_kept_or_broken_once_enough_queries_say_so() -> None:
    async with routing() as scene:
        await scene.join("w1")
        for _ in range(200):
            await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(4)))
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["kept"] == "yes"
        scene.pool.run_s = 0.2
        for _ in range(10):
            await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(4)))
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["kept"] == "no"


@virtually
async def test_what_clients_see_is_later_by_the_lag_of_the_loop() -> None:
    async with routing() as scene:
        scene.pool.run_s = 0.06
        await scene.join("w1")
        scene.router.lag.mean_s = 1.0
        await scene.ask(1.0, slo_s=None)
        await asyncio.sleep(BUCKET_S)
        seen = _guaranteed(scene)
        assert (seen["observed_violation_rate"], seen["client_violation_rate"]) == (0.0, 1.0)


@virtually
async def test_the_status_says_what_batches_take_on_each_worker_and_which_worker_is_slow() -> None:
    async with routing() as scene:
        scene.pool.workers["w3"] = lambda variant, inputs: BatchResult({"y": inputs["x"]}, 2 * BATCH_S)
        scene.pool.run_s = 3 * BATCH_S
        await scene.join("w1", "w2", "w3")
        for _ in range(1000):
            await asyncio.gather(*(scene.ask(float(i)) for i in range(3)))
        workers = scene.router.status()["workers"]
        assert {name: worker["latency"]["slow"] for name, worker in workers.items()} == {
            "w1": False,
            "w2": False,
            "w3": True,
        }
        fair, slow = (workers[name]["latency"] for name in ("w1", "w3"))
        assert fair["run_factor"] == pytest.approx(1.0, rel=0.05)
        assert slow["run_factor"] == pytest.approx(2.0, rel=0.05)
        assert slow["run_factors"]["double"] == pytest.approx(2.0, rel=0.05)
        assert fair["path_ms"] == pytest.approx(2.0, rel=0.1)
        assert slow["path_ms"] == pytest.approx(1.0, rel=0.1)
        assert all(worker["latency"]["path_tail_ms"] >= worker["latency"]["path_ms"] for worker in workers.values())


@virtually
async def test_nobody_is_ready_before_the_warm_up_is_over() -> None:
    async with routing() as scene:
        scene.router.warm = False
        await scene.join("w1")
        assert not scene.router.ready("digits")
        scene.router.warm = True
        assert scene.router.ready("digits")


@virtually
async def test_a_query_that_was_refused_counts_against_the_promise() -> None:
    async with routing() as scene:
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=0.05)
        await asyncio.sleep(BUCKET_S)
        assert _guaranteed(scene)["queries"] == 0, "its deadline was its own"
        with pytest.raises(NoWorker):
            await scene.ask(1.0, slo_s=None)
        await asyncio.sleep(BUCKET_S)
        guarantee = _guaranteed(scene)
        assert (guarantee["queries"], guarantee["observed_violation_rate"]) == (1, 1.0)


def _guaranteed(scene: Scene) -> dict[str, Any]:
    return dict(scene.router.status()["endpoints"]["digits"]["guarantee"])


def saying(label: int) -> Callable[[str, Arrays], BatchResult]:
    return lambda variant, inputs: BatchResult({"label": np.full(len(inputs["x"]), label)}, BATCH_S)


@virtually
async def test_an_ensemble_has_a_share_for_each_member_and_counts_of_labels() -> None:
    ensemble = flow(one_wave("double", "triple"), {"double": 0.9, "triple": 0.8})
    stages = {
        candidate.variant: StagePlan({"cpu": (candidate,)}, GreedySelection(), create_balancer("shortest_queue"))
        for candidate in (DOUBLE, TRIPLE)
    }
    plan = Plan(1, {"digits": EndpointPlan("digits", EndpointLimits(0.1, False, 100), stages, ensemble)})
    async with routing(plan) as scene:
        scene.pool.workers = {"w1": saying(1), "w2": saying(2)}
        await scene.members("w1", "w2")
        await scene.follow(w1=("double",), w2=("triple",))
        assert scene.router.status()["endpoints"]["digits"]["ground_truth"] is None, "nobody to tell"
        labels = scene.router.labels = Labels(plan.endpoints, {"digits": Ballots(CLASSES)})
        for number in range(4):
            answer = await scene.router.infer("digits", {"x": np.array([0.0, 1.0])}, 2, 5.0)
            assert answer.votes == {"double": [1, 1], "triple": [2, 2]}
            labels.remember("digits", str(number), answer, now_s())
        labels.tell("digits", [("0", (1, 2))], now_s())
        seen = scene.router.status()["endpoints"]["digits"]
    assert (seen["selection"], seen["answered"], seen["ready"]) == ("ensemble", 4, True)
    assert seen["variants"] == {
        "double": {"queries": 4, "share": 1.0, "expected_accuracy": 0.9},
        "triple": {"queries": 4, "share": 1.0, "expected_accuracy": 0.8},
    }
    told = {"labelled": 2, "right": 1, "answered": 8}
    members = {"double": {**told, "agreed": 8}, "triple": {**told, "agreed": 0}}
    assert seen["ground_truth"] == {"labelled": 2, "right": 1, "members": members}


@virtually
async def test_what_a_router_reports_counts_answers_after_the_deadline_and_refusals_as_violations() -> None:
    async with routing() as scene:
        scene.pool.run_s = 0.2
        await scene.join("w1")
        await scene.ask(1.0, slo_s=0.3)
        await scene.ask(2.0, slo_s=0.1)
        await scene.members()
        with pytest.raises(NoWorker):
            await scene.ask(3.0, slo_s=0.1)
        report = scene.router.observer.meter.report(5, scene.router.router_state())
        assert (dict(report.arrived), dict(report.violated)) == ({"digits": 3}, {"digits": 2})
        assert sum(report.runs["pool", DOUBLE.variant, "w1"]) == 2
        assert scene.router.observer.meter.report(6, scene.router.router_state()).arrived == {}
