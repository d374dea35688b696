"""The router as host of the dispatcher: workers that come, go, hang and fail, with a client that plays them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pytest

from catalog.errors import NoWorker, UnknownEndpoint, VariantFailed
from catalog.tensor import Arrays
from deployments import membership
from deployments import router as router_module
from deployments.router import Router
from deployments.worker_client import WorkerClient, WorkerGone
from deployments.worker_messages import BatchResult, WorkerReport
from dispatch.balancing.round_robin import RoundRobin
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.table_plan import with_tables

DOUBLE = Candidate("double", 0.9, (0.0, 0.001, 0.001, 0.001, 0.001))
TRIPLE = Candidate("triple", 0.8, (0.0, 0.001, 0.001, 0.001, 0.001))

PROBLEM = WorkerProblem.of((TRIPLE,), 0.1, 1, Poisson(1.0))


def _factor(variant: str, inputs: Arrays) -> BatchResult:
    return BatchResult({"y": inputs["x"] * {"double": 2, "triple": 3}[variant]}, 0.001)


@dataclass
class PlayedPool:
    """Workers played by functions: each answers a batch, raises WorkerGone, or waits for ever."""

    workers: dict[str, Callable[[str, Arrays], BatchResult]] = field(default_factory=dict)
    loaded: tuple[str, ...] = ("double", "triple")
    hanging: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    batches: list[tuple[str, str, int]] = field(default_factory=list)
    describe_failures: int = 0

    async def reach_any(self) -> WorkerReport:
        return await self.describe("any")

    async def describe(self, worker: str) -> WorkerReport:
        if self.describe_failures > 0:
            self.describe_failures -= 1
            raise WorkerGone("not there yet")
        return WorkerReport("pool", "cpu", self.loaded)

    async def run(self, worker: str, variant: str, inputs: Arrays) -> BatchResult:
        self.batches.append((worker, variant, len(inputs["x"])))
        await asyncio.sleep(0)
        if worker in self.dead:
            raise WorkerGone("ActorDiedError")
        if worker in self.hanging:
            await asyncio.Event().wait()
        return self.workers.get(worker, _factor)(variant, inputs)

    def forget(self, worker: str) -> None:
        self.workers.pop(worker, None)


@dataclass
class Scene:
    router: Router
    pool: PlayedPool

    async def members(self, *workers: str, settled: bool = True) -> None:
        membership.update("pool", frozenset(workers))
        if settled:
            async with asyncio.timeout(5):
                while {*self.router.status()["workers"]} != {*workers}:
                    await asyncio.sleep(0.01)

    async def ask(self, value: float, slo_s: float | None = 5.0) -> float:
        inputs = {"x": np.array([value])}
        answer = await asyncio.wait_for(self.router.infer("digits", inputs, 1, slo_s), 10)
        return float(answer.outputs["y"][0])


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(router_module, "DESCRIBE_RETRY_S", 0.01)
    pool = PlayedPool()
    endpoint = EndpointPlan("digits", 0.1, False, 100, {"cpu": (DOUBLE, TRIPLE)}, GreedySelection(), RoundRobin())
    router = Router(Plan(1, {"digits": endpoint}), {"pool": cast(WorkerClient, pool)})
    membership.update("pool", frozenset())
    await router.start()
    yield Scene(router, pool)
    membership.update("pool", frozenset())
    await asyncio.sleep(0.05)


async def test_queries_that_wait_for_a_busy_worker_go_in_one_call(scene: Scene) -> None:
    await scene.members("w1")
    answers = await asyncio.gather(*(scene.ask(float(i)) for i in range(5)))
    assert answers == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert [rows for _, _, rows in scene.pool.batches] == [1, 4]


async def test_each_query_gets_its_own_rows_of_what_came_back_for_the_batch(scene: Scene) -> None:
    await scene.members("w1")
    rows = [1, 3, 2, 1]
    asked = [np.arange(10.0 * i, 10.0 * i + count) for i, count in enumerate(rows)]
    answers = await asyncio.gather(*(scene.router.infer("digits", {"x": x}, len(x), 5.0) for x in asked))
    for x, answer in zip(asked, answers, strict=True):
        np.testing.assert_array_equal(answer.outputs["y"], 2 * x)


async def test_a_query_before_the_first_worker_waits_for_it(scene: Scene) -> None:
    waiting = asyncio.create_task(scene.ask(1.0))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    assert not scene.router.ready("digits")
    await scene.members("w1")
    assert await waiting == 2.0
    assert scene.router.ready("digits")


async def test_a_query_without_any_worker_gets_503_at_its_deadline(scene: Scene) -> None:
    with pytest.raises(NoWorker, match="no worker that holds a variant for endpoint 'digits'"):
        await scene.ask(1.0, slo_s=0.05)


async def test_the_batch_of_a_worker_that_died_is_answered_by_another(scene: Scene) -> None:
    scene.pool.dead.add("w1")
    await scene.members("w1", "w2")
    assert await asyncio.gather(*(scene.ask(float(i)) for i in range(6))) == [2.0 * i for i in range(6)]
    assert {worker for worker, _, _ in scene.pool.batches} == {"w1", "w2"}


async def test_the_batch_of_a_worker_that_serve_reports_lost_is_answered_by_another(scene: Scene) -> None:
    scene.pool.hanging.add("w1")
    await scene.members("w1")
    waiting = asyncio.create_task(scene.ask(1.0))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await scene.members("w2")
    assert await waiting == 2.0


async def test_a_worker_that_never_answers_counts_as_lost(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_module, "BATCH_TIMEOUT_S", 0.1)
    scene.pool.hanging.add("w1")
    await scene.members("w1", "w2")
    assert await asyncio.gather(*(scene.ask(float(i)) for i in range(3))) == [0.0, 2.0, 4.0]


async def test_a_worker_that_was_only_unreachable_comes_back(scene: Scene) -> None:
    await scene.members("w1")
    scene.pool.dead.add("w1")
    scene.pool.describe_failures = 3
    waiting = asyncio.create_task(scene.ask(1.0))
    while not scene.pool.batches:
        await asyncio.sleep(0.01)
    scene.pool.dead.clear()
    assert await waiting == 2.0


async def test_a_variant_that_raises_is_replaced_by_another(scene: Scene) -> None:
    def brittle(variant: str, inputs: Arrays) -> BatchResult:
        return BatchResult({}, 0.0, "RuntimeError: broken") if variant == "double" else _factor(variant, inputs)

    scene.pool.workers["w1"] = brittle
    await scene.members("w1")
    assert await scene.ask(1.0) == 3.0


async def test_a_query_that_no_variant_can_take_gets_503_with_the_reason_and_the_next_is_served(scene: Scene) -> None:
    def poisoned(variant: str, inputs: Arrays) -> BatchResult:
        return BatchResult({}, 0.0, "ValueError: thirteen") if 13.0 in inputs["x"] else _factor(variant, inputs)

    scene.pool.workers["w1"] = poisoned
    await scene.members("w1")
    outcomes = await asyncio.gather(*(scene.ask(float(i)) for i in (12, 13, 14, 15)), return_exceptions=True)
    assert isinstance(outcomes[1], VariantFailed)
    assert "ValueError: thirteen" in str(outcomes[1])
    assert [o for i, o in enumerate(outcomes) if i != 1 and not isinstance(o, Exception)] != []
    assert all(not isinstance(o, BaseException) for i, o in enumerate(outcomes) if i != 1)
    assert await scene.ask(1.0) == 2.0


async def test_a_cancelled_query_is_withdrawn(scene: Scene) -> None:
    scene.pool.hanging.add("w1")
    await scene.members("w1")
    first = asyncio.create_task(scene.ask(1.0))
    second = asyncio.create_task(scene.ask(2.0))
    await asyncio.sleep(0.05)
    assert scene.router.status()["endpoints"]["digits"]["queued"] == 1
    second.cancel()
    await asyncio.sleep(0.05)
    assert scene.router.status()["endpoints"]["digits"]["queued"] == 0
    first.cancel()


async def test_an_unknown_endpoint_is_refused_with_the_known_ones(scene: Scene) -> None:
    with pytest.raises(UnknownEndpoint, match="endpoints here: digits"):
        await scene.router.infer("nope", {}, 1, None)


async def test_the_status_counts_what_happened(scene: Scene) -> None:
    await scene.members("w1")
    await asyncio.gather(*(scene.ask(float(i)) for i in range(10)))
    digits = scene.router.status()["endpoints"]["digits"]
    assert (digits["arrived"], digits["answered"], digits["rejected"], digits["violations"]) == (10, 10, 0, 0)
    assert digits["variants"] == {"double": {"queries": 10, "share": 1.0, "expected_accuracy": 0.9}}
    assert digits["latency_ms"]["p50"] <= digits["latency_ms"]["p99"]
    assert scene.router.status()["workers"]["w1"]["loaded"] == ["double", "triple"]


async def test_the_status_sets_promises_beside_what_happened(scene: Scene) -> None:
    await scene.members("w1")
    grid = TableGrid((), replace(beyond_table(PROBLEM, 1), expected_accuracy=0.7, expected_violation_rate=0.01))
    plan = scene.router.plan
    scene.router.apply(Plan(plan.version + 1, {"digits": with_tables(plan.endpoints["digits"], {"cpu": grid})}))
    await asyncio.gather(*(scene.ask(float(i), slo_s=None) for i in range(10)))
    status = scene.router.status()
    assert status["plan_version"] == 2
    digits = status["endpoints"]["digits"]
    assert digits["selection"] == "ramsis"
    assert digits["anticipated_qps"] > 0
    assert digits["transport_ms"]["p99"] >= digits["transport_ms"]["p50"]
    guarantee = digits["guarantee"]
    assert guarantee["expected_accuracy"] == pytest.approx(0.7)
    assert guarantee["expected_violation_rate"] == pytest.approx(0.01)
    assert guarantee["observed_accuracy"] == pytest.approx(0.8)
    assert (guarantee["queries"], guarantee["violations"], guarantee["broken"]) == (10, 0, False)


async def test_a_query_that_was_refused_counts_against_the_promise(scene: Scene) -> None:
    with pytest.raises(NoWorker):
        await scene.ask(1.0, slo_s=0.05)
    assert scene.router.status()["endpoints"]["digits"]["guarantee"]["queries"] == 0, "its deadline was its own"
    with pytest.raises(NoWorker):
        await scene.ask(1.0, slo_s=None)
    guarantee = scene.router.status()["endpoints"]["digits"]["guarantee"]
    assert (guarantee["queries"], guarantee["observed_violation_rate"]) == (1, 1.0)
