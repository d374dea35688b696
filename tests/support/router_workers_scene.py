"""A router's workers with its dispatcher, in virtual time: the test decides when batches are done."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain

from deployments.messages.control import WorkerRouting
from deployments.router.workers import RouterWorkers
from deployments.worker import membership
from dispatch.commands import Answer, Answers, Command, Launch
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.query import Query
from dispatch.worker_info import WorkerInfo
from router_scene import BOTH, ME, PlayedPool, digits, now_s, settled


@dataclass
class Scene:
    """A router's workers with its dispatcher; commands are kept, and nothing runs until `done` says that it has."""

    pool: PlayedPool = field(default_factory=PlayedPool)
    latency: LatencyEstimator | None = None
    commands: list[Command] = field(default_factory=list)
    changes: int = 0
    queries: int = 0

    def __post_init__(self) -> None:
        self.dispatcher = Dispatcher(Plan(1, {"digits": digits()}), self.latency)
        clients = {"pool": self.pool.client}
        loop = asyncio.get_running_loop()
        self.workers = RouterWorkers(ME, self.dispatcher, clients, now_s, self.carry_out, loop.create_task)
        self.workers.on_change = self._changed

    def _changed(self) -> None:
        self.changes += 1

    def carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            self.commands.append(command)
            if isinstance(command, Launch):
                never = asyncio.get_running_loop().create_task(asyncio.sleep(1e6))
                self.workers.calls[command.batch.worker].add(never)

    async def members(self, *workers: str) -> None:
        """Serve calls these alive."""
        membership.update("pool", frozenset(workers))
        await settled()

    async def given(self, *workers: str, **serves: tuple[str, ...]) -> None:
        """The controller gives this router these, and no others."""
        serving = dict.fromkeys(workers, BOTH) | serves
        routing = {
            worker: WorkerRouting(WorkerInfo("cpu", "pool"), frozenset(held), ME) for worker, held in serving.items()
        }
        held = self.workers.follow(routing)
        self.carry_out(self.dispatcher.reassign(held, now_s()))
        self.workers.settle()
        await settled()

    def ask(self, slo_s: float = 100.0) -> int:
        """A query comes; gives its id."""
        self.queries += 1
        query = Query(self.queries, "digits", now_s(), now_s() + slo_s, 1, {})
        self.carry_out(self.dispatcher.on_arrival(query, now_s()))
        return query.id

    def done(self, worker: str) -> None:
        """The first batch of a worker comes back, as the router lets the router's workers know."""
        batch = self.dispatcher.workers[worker].under_way[0]
        outputs: list[dict[str, object]] = [{} for _ in batch.jobs]
        self.carry_out(self.dispatcher.on_done(worker, batch.id, outputs, 0.001, now_s()))
        self.workers.ended(batch)

    @property
    def launched(self) -> list[tuple[str, list[int]]]:
        """The worker of every batch so far, and its queries."""
        batches = [command.batch for command in self.commands if isinstance(command, Launch)]
        return [(batch.worker, [job.query.id for job in batch.jobs]) for batch in batches]

    @property
    def answers(self) -> list[Answer]:
        return [answer for command in self.commands if isinstance(command, Answers) for answer in command.each()]

    @property
    def using(self) -> set[str]:
        return set(self.workers.using)


@asynccontextmanager
async def following(latency: LatencyEstimator | None = None) -> AsyncIterator[Scene]:
    """A router's workers that has begun; nobody listens to Serve afterwards."""
    scene = Scene(latency=latency)
    membership.update("pool", frozenset())
    await scene.workers.start()
    await settled()
    try:
        yield scene
    finally:
        membership.listen("pool", lambda _: None)
        membership.update("pool", frozenset())
        for call in chain.from_iterable(scene.workers.calls.values()):
            call.cancel()
