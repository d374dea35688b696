"""All workers, as the controller knows them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from catalog.profiles.profile import LatencyProfile
from catalog.variant import Variant
from deployments.messages.worker import WorkerReport
from deployments.worker.client import WorkerClient, WorkerGone, follow_pools

logger = logging.getLogger("ray.serve")

T = TypeVar("T")

DESCRIBE_RETRY_S = 0.3
CALL_TIMEOUT_S = 300.0
"""Loading a large model may take minutes."""

LOOK_S = 1.0


class WorkerRegistry:
    """Follows the workers of every pool and passes the controller's words to them; lives on its event loop.

    ``on_change`` hears of workers that came, once they have described themselves, and of those that are gone.
    """

    def __init__(self, clients: Mapping[str, WorkerClient], on_change: Callable[[str, bool], None]) -> None:
        self._clients = clients
        self._on_change = on_change
        self._pool_of: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._heard: set[str] = set()
        self.reports: dict[str, WorkerReport] = {}

    async def start(self) -> None:
        """Begin to follow; returns at once."""
        follow_pools(self._clients, self._on_members)

    @property
    def known(self) -> bool:
        """Whether Serve has spoken of every pool, and every worker that is alive has described itself."""
        return self._heard == self._clients.keys() and self._pool_of.keys() == self.reports.keys()

    def loaded(self) -> dict[str, frozenset[str]]:
        """What every worker has loaded."""
        return {worker: frozenset(report.loaded) for worker, report in self.reports.items()}

    async def dead(self, workers: Iterable[str]) -> frozenset[str]:
        """Which of the workers are gone though Serve has not said so yet, by asking them: it says so within a second or
        two. One that does not answer within `LOOK_S` is taken to be busy."""
        asked = sorted(workers)
        found = await asyncio.gather(*(self._look_at(worker) for worker in asked))
        return frozenset(worker for worker, gone in zip(asked, found, strict=True) if gone)

    async def look(self) -> None:
        """Ask all workers what they hold: what was told them last may have taken longer than anybody waited, or a
        controller before this one told them. Of one that does not answer within `LOOK_S` what is known stays."""
        await asyncio.gather(*(self._look_at(worker) for worker in sorted(self.reports)))

    async def _look_at(self, worker: str) -> bool:
        """Enter what a worker holds; whether it is gone."""
        try:
            self._holding(worker, await asyncio.wait_for(self._client(worker).describe(worker), LOOK_S))
        except WorkerGone:
            return True
        except TimeoutError:
            pass
        return False

    async def load(self, worker: str, variant: Variant) -> WorkerReport:
        """Have a variant loaded; what fails is in the report. Raises `WorkerGone`, and `TimeoutError` where it takes
        longer than `CALL_TIMEOUT_S`: the worker lives, and serves on with what it holds."""
        loading = self._client(worker).load(worker, variant)
        return self._holding(worker, await asyncio.wait_for(loading, CALL_TIMEOUT_S))

    async def unload(self, worker: str, variant: str) -> WorkerReport:
        """Have a variant let go of. Raises `WorkerGone`."""
        return self._holding(worker, await self._answer(worker, self._client(worker).unload(worker, variant)))

    async def assign(self, worker: str, router: str | None) -> WorkerReport:
        """Have a worker take batches of this router only. Raises `WorkerGone`."""
        report = await self._answer(worker, self._client(worker).assign(worker, router))
        if (known := self.reports.get(worker)) is not None:
            self.reports[worker] = replace(known, router=report.router)
        return report

    async def profile(self, worker: str, variant: Variant, budget_s: float) -> LatencyProfile:
        """Have a variant measured between batches. Raises `WorkerGone`, or what the variant raises."""
        return await self._answer(worker, self._client(worker).profile(worker, variant, budget_s))

    def _client(self, worker: str) -> WorkerClient:
        if worker not in self._pool_of:
            raise WorkerGone(f"worker {worker} is not there any more")
        return self._clients[self._pool_of[worker]]

    async def _answer(self, worker: str, call: Awaitable[T]) -> T:
        try:
            return await asyncio.wait_for(call, CALL_TIMEOUT_S)
        except TimeoutError as error:
            raise WorkerGone(f"worker {worker} did not answer within {CALL_TIMEOUT_S:.0f} s") from error

    def _holding(self, worker: str, report: WorkerReport) -> WorkerReport:
        """Enter what a worker holds, but not its router: answers overtake one another."""
        if (known := self.reports.get(worker)) is not None:
            self.reports[worker] = replace(report, router=known.router)
        return report

    def _on_members(self, pool: str, live: frozenset[str]) -> None:
        self._heard.add(pool)
        for worker in [worker for worker, of in self._pool_of.items() if of == pool and worker not in live]:
            del self._pool_of[worker]
            self._clients[pool].forget(worker)
            if self.reports.pop(worker, None) is not None:
                self._on_change(worker, False)
        for worker in sorted(live - self._pool_of.keys()):
            self._pool_of[worker] = pool
            task = asyncio.get_running_loop().create_task(self._meet(worker))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _meet(self, worker: str) -> None:
        """Ask a new worker until it answers or is gone."""
        while worker in self._pool_of:
            try:
                report = await asyncio.wait_for(self._client(worker).describe(worker), CALL_TIMEOUT_S)
            except (WorkerGone, TimeoutError):
                await asyncio.sleep(DESCRIBE_RETRY_S)
                continue
            if worker in self._pool_of:
                self.reports[worker] = report
                for variant, reason in report.failed.items():
                    logger.error("Worker %s cannot load variant %s: %s", worker, variant, reason)
                self._on_change(worker, True)
            return
