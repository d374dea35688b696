"""The worker: holds loaded variants and runs one batch at a time."""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ray import serve
from ray.serve.exceptions import RayServeException

from catalog.store import FsspecStore
from catalog.tensor import Arrays
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, one_line
from deployments.runtimes.registry import create
from deployments.worker_messages import BatchResult, WorkerReport, WorkerSpec

logger = logging.getLogger("ray.serve")


HANGS_AFTER_S = 60.0
"""A batch that runs longer than this will not end."""


class WrongWorker(Exception):
    """A call for another worker, which is gone, ended up here."""


class Worker:
    """Runs batches off the event loop, in the order of the calls, on one thread; loads and unloads in between.

    A variant that cannot be loaded, or that raises, is reported to the caller in words; the worker lives on.
    Models are loaded and warmed up before Serve counts the replica as ready.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._id = _own_id()
        self._known = {variant.name: variant for variant in spec.variants}
        self._store = FsspecStore(spec.artifact_root, Path(spec.cache_dir))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="accord-batch")
        self._runtimes: dict[str, ModelRuntime] = {}
        self._failed: dict[str, str] = {}
        self._running_since_s: float | None = None
        for name in self._known:
            self._load(name)

    async def describe(self, worker: str | None = None) -> WorkerReport:
        """What is loaded here, and what failed to load and why; answers between two batches, so not while one hangs.

        ``worker`` here and below is the id of the worker that the caller means, None for whichever; raises
        `WrongWorker` where that is another one.
        """
        self._check_meant(worker)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._describe)

    def _describe(self) -> WorkerReport:
        return WorkerReport(
            self._spec.pool,
            self._spec.device,
            tuple(self._runtimes),
            dict(self._failed),
            sum(runtime.memory_bytes() for runtime in self._runtimes.values()),
        )

    async def run(self, variant: str, inputs: Arrays, worker: str | None = None) -> BatchResult:
        """Run one stacked batch: ``inputs`` maps tensor name to an array whose first axis is the batch."""
        self._check_meant(worker)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, variant, inputs)

    async def check_health(self) -> None:
        """Called by Serve, which replaces the replica when this raises: a batch hangs."""
        since_s = self._running_since_s
        if since_s is not None and time.perf_counter() - since_s > HANGS_AFTER_S:
            raise RuntimeError(f"a batch has been running for more than {HANGS_AFTER_S:.0f} s")

    async def load(self, variant: str) -> WorkerReport:
        """Load a variant beside those that are held; a failure is in the report."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._load, variant)
        return await self.describe()

    async def unload(self, variant: str) -> WorkerReport:
        """Let go of a variant; one that is not held is fine."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._unload, variant)
        return await self.describe()

    def _check_meant(self, worker: str | None) -> None:
        if worker is not None and worker != self._id:
            raise WrongWorker(f"this is worker {self._id}, not {worker}")

    def _run(self, variant: str, inputs: Arrays) -> BatchResult:
        runtime = self._runtimes.get(variant)
        if runtime is None:
            why = self._failed.get(variant, "it is not loaded")
            return BatchResult({}, 0.0, f"this worker does not hold it: {why}")
        started_s = self._running_since_s = time.perf_counter()
        try:
            outputs = runtime.run(inputs)
        except Exception as error:
            logger.exception("Variant %s raised on a batch.", variant)
            return BatchResult({}, time.perf_counter() - started_s, _reason(error))
        finally:
            self._running_since_s = None
        return BatchResult(outputs, time.perf_counter() - started_s)

    def _load(self, name: str) -> None:
        if name in self._runtimes:
            return
        variant = self._known.get(name)
        if variant is None:
            self._failed[name] = f"pool {self._spec.pool!r} knows no such variant; it knows {', '.join(self._known)}"
            return
        try:
            artifact = self._store.fetch(variant.artifact)
            runtime = create(variant, artifact, RuntimeOptions(self._spec.device, self._spec.threads))
            runtime.load()
        except Exception as error:
            logger.exception("Variant %s could not be loaded.", name)
            self._failed[name] = _reason(error)
            return
        self._failed.pop(name, None)
        self._runtimes[name] = runtime

    def _unload(self, name: str) -> None:
        runtime = self._runtimes.pop(name, None)
        if runtime is not None:
            runtime.unload()


def _own_id() -> str | None:
    """Id of the Serve replica that this process is; None outside Serve."""
    try:
        return str(serve.get_replica_context().replica_id.unique_id)
    except RayServeException:
        return None


def _reason(error: Exception) -> str:
    """Type and message of an error on one line, for a client and a log."""
    return f"{type(error).__name__}: {one_line(error)}"


WorkerDeployment = serve.deployment(Worker)
"""The worker as a Serve deployment; `serve_app.main` sets name, replicas and resources per pool."""
