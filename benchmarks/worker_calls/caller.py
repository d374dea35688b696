"""A router's end of the ways to a worker, in a replica of its own as routers are."""

import asyncio
import time
from dataclasses import dataclass

import numpy as np
import psutil
from ray import serve
from ray.serve.handle import DeploymentHandle

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult, NetworkAddress
from deployments.worker import membership
from deployments.worker.client import WorkerClient
from deployments.worker.sockets.link import BatchLink

POOL = "workers"
HANDLE, UNIX, TCP = WAYS = ("handle", "unix_socket", "tcp")
WARM = 20


@dataclass(frozen=True)
class Cost:
    """Of a batch in one round: its way (there and back, without its run), and processor time of either process."""

    way_ms: float
    way_p95_ms: float
    router_cpu_ms: float
    worker_cpu_ms: float


class Caller:
    """Sends batches to the one worker of the pool, each after the result of the one before."""

    def __init__(self, handle: DeploymentHandle) -> None:
        self._handle = handle
        self._client = WorkerClient(POOL, handle)
        self._links: dict[str, BatchLink] = {}
        self._worker = ""
        self._process = psutil.Process()

    async def connect(self) -> None:
        """Find the worker, and have both sockets connected."""
        loop, found = asyncio.get_running_loop(), asyncio.Queue[frozenset[str]]()
        membership.listen(POOL, lambda live: loop.call_soon_threadsafe(found.put_nowait, live))
        self._client.follow()
        while not (live := await found.get()):
            pass
        (self._worker,) = live
        self._process = psutil.Process((await self._client.describe(self._worker)).pid)
        handle = self._handle.options(multiplexed_model_id=self._worker)
        self._links[UNIX] = await BatchLink.open_local(await handle.local_socket.remote(self._worker))
        address = await handle.network_socket.remote(self._worker)
        assert isinstance(address, NetworkAddress)
        self._links[TCP] = await BatchLink.open_network(address)

    async def measure(self, way: str, variant: str, inputs: Arrays, batches: int, pause_s: float) -> Cost:
        """What so many batches take by one way. Raises RuntimeError where a batch fails."""
        for _ in range(WARM):
            await self._run(way, variant, inputs)
        ways_s, runs_s = [], []
        mine_s, its_s = time.process_time(), _cpu_s(self._process)
        for _ in range(batches):
            begun_s = time.perf_counter()
            result = await self._run(way, variant, inputs)
            ways_s.append(time.perf_counter() - begun_s - result.run_s)
            runs_s.append(result.run_s)
            if pause_s:
                await asyncio.sleep(pause_s)
        mine_s, its_s = time.process_time() - mine_s, _cpu_s(self._process) - its_s
        return Cost(
            1e3 * float(np.median(ways_s)),
            1e3 * float(np.percentile(ways_s, 95)),
            1e3 * mine_s / batches,
            1e3 * max((its_s - sum(runs_s)) / batches, 0.0),
        )

    async def _run(self, way: str, variant: str, inputs: Arrays) -> BatchResult:
        if way == HANDLE:
            result = await self._client.run(self._worker, variant, inputs)
        else:
            result = await self._links[way].run(variant, inputs, self._worker, None)
        if result.error is not None:
            raise RuntimeError(f"a batch by {way} failed: {result.error}")
        return result


CallerDeployment = serve.deployment(Caller)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
