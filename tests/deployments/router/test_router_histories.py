"""A router under random histories of workers, routing tables and failures: every query gets one answer or one error."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.placement.serving import Service
from catalog.errors import AccordError
from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.router.observing import loop_lag
from deployments.router.workers import LEAVE_S
from deployments.worker import membership
from deployments.worker.client import WorkerGone
from dispatch.recovery.batch_watch import LEAST_LAST_S
from dispatch.recovery.retries import MAX_ATTEMPTS
from router_scene import (
    BOTH,
    DOUBLE,
    ME,
    TIMES,
    TRIPLE,
    PlayedPool,
    Scene,
    now_s,
    routing,
    routing_table,
    service,
    settled,
    virtually,
)

WORKERS = ("w0", "w1", "w2")
OTHER = "r2"
HELD = (BOTH, ("double",), ("triple",), ())
CANDIDATES = ((DOUBLE, TRIPLE), (TRIPLE,), (DOUBLE,))
RUN_S = 0.05
FATES = ("answer", "answer", "answer", "raise", "die", "dawdle", "hang")

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["ask"] * 6 + ["cancel", "serve", "serve", "routing_table", "routing_table", "older", "wait"]),
        st.integers(0, 11),
        st.sampled_from((0.0, 0.0, 0.0, 0.02, 0.06, 0.6, 6.0)),
    ),
    min_size=80,
    max_size=80,
)


@dataclass
class Strict(PlayedPool):
    """Workers that fare as ``fates`` say, batch by batch, and notice what must never happen."""

    fates: Sequence[str] = ()
    alive: set[str] = field(default_factory=set)
    running: Counter[str] = field(default_factory=Counter)
    scene: Scene | None = None
    calm: bool = False
    wrong: list[str] = field(default_factory=list)

    async def run(self, worker: str, variant: str, inputs: Arrays) -> BatchResult:
        assert self.scene is not None
        news = self.scene.router.routing
        assert news is not None
        routing_of = news.workers[worker]
        forbidden = {
            "Serve has told it to stop": worker not in self.alive,
            "the controller has given it away": routing_of.router != ME,
            "another router may launch batches there": self.assigned.get(worker, ME) != ME,
            "it does not serve that": variant not in routing_of.serves,
            "one waits behind another already": self.running[worker] > 1,
        }
        self.wrong += [reason for reason, so in forbidden.items() if so]  # the router takes what is raised here
        fate = self.fates[len(self.batches) % len(self.fates)] if self.fates and not self.calm else "answer"
        self.batches.append((worker, variant, len(inputs["x"])))
        self.running[worker] += 1
        try:
            async with self.turns[worker]:
                await asyncio.sleep({"hang": 1e9, "dawdle": 2.0}.get(fate, RUN_S))
        finally:
            self.running[worker] -= 1
        if fate == "die":
            raise WorkerGone("ActorDiedError")
        if fate == "raise":
            return BatchResult({}, RUN_S, "RuntimeError: played")
        return BatchResult({"y": inputs["x"] * TIMES[variant]}, RUN_S)


@dataclass
class History:
    """What the controller and Serve do to one router; a worker passes on only when the router has let go of it."""

    scene: Scene
    pool: Strict
    version: int = 0
    asked: dict[int, asyncio.Task[float]] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    since_s: dict[str, float] = field(default_factory=dict)
    """Worker to when it was told to go, or taken from the router."""

    def ask(self, which: int) -> None:
        for _ in range(1 + which % 4):
            value = len(self.asked) + 1
            slo_s = (0.01, 0.5, 30.0)[which % 3]
            self.asked[value] = asyncio.create_task(self.scene.ask(float(value), slo_s))

    def cancel(self, which: int) -> None:
        waiting = [value for value, task in self.asked.items() if not task.done()]
        if waiting:
            value = waiting[which % len(waiting)]
            self.cancelled.add(value)
            self.asked[value].cancel()

    def serve(self, which: int) -> None:
        """Serve starts a worker, or tells it to stop."""
        self.pool.alive ^= {WORKERS[which % 3]}
        membership.update("pool", frozenset(self.pool.alive))

    def routing_table(self, which: int) -> None:
        """Every worker that the router has or may have; another one of them is given away each time."""
        self.version += 1
        given: dict[str, str | None] = {}
        for number, worker in enumerate(WORKERS):
            if (which + number) % 4 == 0:
                given[worker] = OTHER if self.pool.assigned.get(worker) == OTHER else None
            else:
                self.pool.assigned[worker] = ME
        offered = {"pool": CANDIDATES[which % 3]}
        shares = {"w0": 0.5, "w1": 0.5} if which % 2 else None
        held = {worker: HELD[(which + 3 * number) % 4] for number, worker in enumerate(WORKERS)}
        self.put_in_force(held, given, service(offered, shares, drop_late=which > 8))

    def put_in_force(self, held: dict[str, tuple[str, ...]], given: dict[str, str | None], endpoint: Service) -> None:
        self.scene.router.follow(routing_table(self.version, held, given, endpoint))

    def older(self, which: int) -> None:
        plan = self.scene.router.plan
        self.scene.router.follow(routing_table(self.version - which, dict.fromkeys(WORKERS, BOTH)))
        assert self.version == 0 or self.scene.router.plan is plan

    def look(self) -> None:
        """Who is to go is gone in time; those that the router has let go of serve another one now."""
        news, using = self.scene.router.routing, self.scene.router.router_state().using
        for worker in WORKERS:
            given = news is not None and worker in news.workers and news.workers[worker].router == ME
            if given and worker in self.pool.alive:
                self.since_s.pop(worker, None)
                continue
            since_s = self.since_s.setdefault(worker, now_s())
            assert worker not in using or now_s() <= since_s + LEAVE_S
            if not given and worker not in using:
                self.pool.assigned[worker] = OTHER

    def all_well(self) -> None:
        """Every worker is alive and the router's."""
        self.pool.alive = {*WORKERS}
        membership.update("pool", frozenset(WORKERS))
        self.pool.assigned.clear()
        self.version += 1
        self.put_in_force(dict.fromkeys(WORKERS, BOTH), {}, service())


@pytest.fixture(scope="module", autouse=True)
def few_probes() -> Iterator[None]:
    """A virtual loop is never late, and probing it through minutes takes most of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop_lag, "PROBE_EVERY_S", 60.0)
        yield


@settings(max_examples=80)
@given(EVENTS, st.lists(st.sampled_from(FATES), max_size=12))
def test_every_query_gets_one_answer_or_error_and_no_batch_goes_where_it_must_not(
    events: list[tuple[str, int, float]], fates: list[str]
) -> None:
    play(events, fates)


@virtually
async def play(events: list[tuple[str, int, float]], fates: list[str]) -> None:
    pool = Strict(fates=fates)
    async with routing(pool=pool) as scene:
        pool.scene = scene
        history = History(scene, pool)
        history.all_well()
        for kind, which, wait_s in events:
            if kind != "wait":
                getattr(history, kind)(which)
                await settled()
                history.look()
            await asyncio.sleep(wait_s)
            await settled()
            history.look()
        pool.calm = True
        history.all_well()
        await asyncio.sleep(6 * (MAX_ATTEMPTS + 1) * LEAST_LAST_S)
        assert pool.wrong == []
        outcomes = await asyncio.gather(*history.asked.values(), return_exceptions=True)
        for value, outcome in zip(history.asked, outcomes, strict=True):
            if value in history.cancelled:
                assert isinstance(outcome, asyncio.CancelledError)
            elif isinstance(outcome, BaseException):
                assert isinstance(outcome, AccordError)
            else:
                assert outcome in (2.0 * value, 3.0 * value), "its own rows"
        seen = scene.router.status()["endpoints"]["digits"]
        assert seen["queued"] == 0
        ended = seen["answered"] + seen["rejected"]
        assert len(outcomes) - len(history.cancelled) <= ended <= len(outcomes)
        assert scene.router.workers.using == {*WORKERS}
        assert np.isclose(await scene.ask(4.0), 8.0)
