"""A host of the dispatcher on the clock of the machine, with one worker."""

import asyncio
import time
from concurrent.futures import Executor

import numpy as np

from benchmarks.lengths.model import TEXT
from benchmarks.lengths.worker import DEVICE, Ran, run
from deployments.router.stacking import stack, unstack
from dispatch.commands import Answers, Command, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch, Query
from dispatch.worker_info import WorkerInfo

WORKER = "w"


class ClockHost:
    """Answers texts as a service does, without the way over the network; lives on the running event loop.

    ``worker_cpu_s`` is the processor time of all batches so far.
    """

    def __init__(self, endpoint: EndpointPlan, worker: Executor) -> None:
        self.worker_cpu_s = 0.0
        self._endpoint = endpoint
        self._worker = worker
        lengths = endpoint.stage.lengths
        self._rule = None if lengths is None else lengths.rule
        self._dispatcher = Dispatcher(Plan(1, {endpoint.name: endpoint}), LatencyEstimator(0.001))
        self._waiting: dict[int, asyncio.Future[float]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_id = 0
        held = [each.variant for own in endpoint.candidates.values() for each in own]
        self._dispatcher.on_worker_ready(WORKER, WorkerInfo(DEVICE), held, time.monotonic())

    async def ask(self, text: str) -> float:
        """Seconds until the answer to a text."""
        now_s = time.monotonic()
        self._next_id += 1
        inputs = {TEXT: np.array([text], dtype=object)}
        length = self._endpoint.length_of(inputs)
        query = Query(self._next_id, self._endpoint.name, now_s, now_s + self._endpoint.slo_s, 1, inputs, length=length)
        answered: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[query.id] = answered
        self._carry_out(self._dispatcher.on_arrival(query, now_s))
        return await answered

    def end(self) -> None:
        """Wait for nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _carry_out(self, commands: list[Command]) -> None:
        loop = asyncio.get_running_loop()
        for command in commands:
            if isinstance(command, Launch):
                self._launch(command.batch)
            elif isinstance(command, Answers):
                for answer in command.each():
                    self._waiting.pop(answer.query.id).set_result(answer.latency_s)
            elif isinstance(command, Reject):
                self._waiting.pop(command.query.id).set_exception(command.error)
            elif isinstance(command, WakeAt):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = loop.call_later(max(0.0, command.at_s - time.monotonic()), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._carry_out(self._dispatcher.on_timer(time.monotonic()))

    def _launch(self, batch: Batch) -> None:
        """Begin to run a batch at once, before whoever was just answered sends more: the worker should not wait."""
        ran = asyncio.get_running_loop().run_in_executor(self._worker, run, stack(batch, self._rule))
        task = asyncio.ensure_future(self._finish(batch, ran))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish(self, batch: Batch, ran: "asyncio.Future[Ran]") -> None:
        outputs, run_s, cpu_s = await ran
        self.worker_cpu_s += cpu_s
        own = unstack(batch, outputs, self._rule)
        self._carry_out(self._dispatcher.on_done(WORKER, batch.id, own, run_s, time.monotonic()))
