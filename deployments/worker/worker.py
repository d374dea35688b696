"""The worker: holds loaded variants and runs one batch at a time."""

import asyncio
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

import ray
from ray import serve
from ray.serve.exceptions import RayServeException

from catalog.errors import AccordError
from catalog.machine_type import machine_type
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profiler import BATCH_SIZES, profile_variant, sample_of
from catalog.store import FsspecStore
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.messages.worker import BatchResult, WorkerReport, WorkerSpec
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, not_measurable, reason
from deployments.runtimes.making import make_runtime
from deployments.worker.hang_watch import HangWatch
from deployments.worker.raised_runs import RaisedRuns
from dispatch.worker_info import WorkerInfo

logger = logging.getLogger("ray.serve")

P = ParamSpec("P")
T = TypeVar("T")


OF_THE_MODEL = ("runtime", "artifact", "inputs", "outputs", "options", "lengths")
"""Fields of a variant that make it another model; what people say of it, and its largest batch, do not."""


class WrongWorker(Exception):
    """A call for another worker, which is gone, ended up here."""


class WorkerNotAssigned(Exception):
    """A batch from a router that this worker does not belong to, or not any more."""


class Worker:
    """Runs batches off the event loop, in the order of the calls, on one thread.

    Variants are loaded on a second thread while batches go on, and are there, or gone, between two batches. One that
    cannot be loaded, or that raises, is reported to the caller in words; the worker lives on. Those of ``spec`` are
    loaded and warmed up before Serve counts the replica as ready.

    ``worker`` is, in every call, the id of the worker that the caller means, None for whichever; raises `WrongWorker`
    where that is another one.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._id = _own_id()
        self._node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
        self._machine = spec.machine or machine_type(spec.device)
        self._store = FsspecStore(spec.artifact_root, Path(spec.cache_dir), spec.artifact_rules)
        self._batches = ThreadPoolExecutor(max_workers=1, thread_name_prefix="accord-batch")
        self._loads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="accord-load")
        self._changing = asyncio.Lock()
        """Held by whoever loads or unloads; it lets them in in the order of the calls."""
        self._runtimes: dict[str, ModelRuntime] = {}
        self._failed: dict[str, str] = {}
        self._runs_for_anyone = True
        self._router: str | None = None
        self._hangs = HangWatch()
        self._raised = RaisedRuns()
        self._variants: dict[str, Variant] = {}
        """Those that were loaded, by name."""
        for variant in spec.variants:
            self._put(variant, self._make_or_reason(variant))

    async def describe(self, worker: str | None = None) -> WorkerReport:
        """What is loaded here, and what failed to load and why; answers between two batches, so not while one hangs."""
        self._check_meant(worker)
        return await _on(self._batches, self._describe)

    async def run(
        self, variant: str, inputs: Arrays, worker: str | None = None, router: str | None = None
    ) -> BatchResult:
        """Run one stacked batch: ``inputs`` maps tensor name to an array whose first axis is the batch.

        ``router`` is who asks; raises `WorkerNotAssigned` where it belongs to another one by the time it would run.
        """
        self._check_meant(worker)
        return await _on(self._batches, self._run, variant, inputs, router, time.perf_counter())

    async def assign(self, router: str | None, worker: str | None = None) -> WorkerReport:
        """Run batches of this router only, after those that are here already; of nobody where it is None.

        A worker that was never assigned takes batches of every router.
        """
        self._check_meant(worker)
        return await _on(self._batches, self._assign, router)

    async def load(self, variant: Variant, worker: str | None = None) -> WorkerReport:
        """Load a variant beside those that are held; a failure is in the report.

        One that is held stays as it is. Another model of its name serves until this one is there, or cannot be.
        """
        self._check_meant(worker)
        async with self._changing:
            report = await _on(self._batches, self._describe)
            if self._holds(variant):
                return report
            made = await _on(self._loads, self._make_or_reason, variant)
            return await _on(self._batches, self._put, variant, made)

    async def unload(self, variant: str, worker: str | None = None) -> WorkerReport:
        """Let go of a variant; one that is not held is fine."""
        self._check_meant(worker)
        async with self._changing:
            return await _on(self._batches, self._unload, variant)

    async def profile(self, variant: Variant, budget_s: float, worker: str | None = None) -> LatencyProfile:
        """Measure a variant, held or not, for ``budget_s`` at most and one run of each batch size at least.

        Batches of queries come in between. What was not held is not held afterwards. Raises `ArtifactError` or
        `ConfigError` where the variant cannot be loaded, and `ArtifactError` where it cannot be run.
        """
        self._check_meant(worker)
        held = runtime = self._runtimes[variant.name] if self._holds(variant) else None
        try:
            if runtime is None:
                runtime = await _on(self._loads, self._make, variant)
            return await asyncio.to_thread(self._measure, variant, runtime, budget_s)
        except AccordError:
            raise
        except Exception as error:
            raise not_measurable(variant, error) from error
        finally:
            if held is None and runtime is not None:
                await _on(self._batches, runtime.unload)

    async def check_health(self) -> None:
        """Called by Serve, which replaces the replica when this raises thrice in a row: a run hangs, or all fail."""
        if (why := self._hangs.why() or self._raised.why()) is not None:
            raise RuntimeError(why)

    def _check_meant(self, worker: str | None) -> None:
        if worker is not None and worker != self._id:
            raise WrongWorker(f"this is worker {self._id}, not {worker}")

    # -- between batches --------------------------------------------------------------------------------------

    def _describe(self) -> WorkerReport:
        spec = self._spec
        return WorkerReport(
            WorkerInfo(spec.device, spec.pool, self._node, spec.preemptible, self._machine),
            tuple(self._runtimes),
            dict(self._failed),
            sum(runtime.memory_bytes() for runtime in self._runtimes.values()),
            self._router,
            os.getpid(),
        )

    def _assign(self, router: str | None) -> WorkerReport:
        self._runs_for_anyone = False
        self._router = router
        return self._describe()

    def _holds(self, variant: Variant) -> bool:
        """Whether it is loaded, and not another model that had its name before."""
        if variant.name not in self._runtimes:
            return False
        loaded = self._variants[variant.name]
        return all(getattr(loaded, field) == getattr(variant, field) for field in OF_THE_MODEL)

    def _put(self, variant: Variant, made: ModelRuntime | str) -> WorkerReport:
        name = variant.name
        self._unload(name)  # another model of that name, if any: it is not wanted any more
        if isinstance(made, str):
            self._failed[name] = made
        else:
            self._failed.pop(name, None)
            self._runtimes[name] = made
            self._variants[name] = variant
        return self._describe()

    def _unload(self, name: str) -> WorkerReport:
        runtime = self._runtimes.pop(name, None)
        if runtime is not None:
            runtime.unload()
        return self._describe()

    def _run(self, variant: str, inputs: Arrays, router: str | None, came_s: float) -> BatchResult:
        if not self._runs_for_anyone and router != self._router:
            raise WorkerNotAssigned(f"this worker belongs to router {self._router}, not {router}")
        runtime = self._runtimes.get(variant)
        if runtime is None:
            why = self._failed.get(variant, "it is not loaded")
            return BatchResult({}, 0.0, f"this worker does not hold it: {why}")
        started_s = time.perf_counter()
        try:
            outputs = self._watched(self._variants[variant], runtime, inputs)
        except Exception as error:
            logger.exception("Variant %s raised on a batch.", variant)
            if self._raised.raised():
                self._try_alone(variant, runtime)
            return BatchResult({}, time.perf_counter() - started_s, reason(error))
        return BatchResult(outputs, time.perf_counter() - started_s, waited_s=started_s - came_s)

    def _watched(self, variant: Variant, runtime: ModelRuntime, inputs: Arrays) -> Arrays:
        """A run that `check_health` keeps an eye on."""
        rule = variant.length_rule
        length = 0 if rule is None else rule.length_of(inputs)
        self._hangs.begin(variant.name, len(next(iter(inputs.values()), ())), length)
        came_back = False
        try:
            outputs = runtime.run(inputs)
            came_back = True
        finally:
            self._hangs.end(came_back=came_back)
        self._raised.came_back()
        return outputs

    def _try_alone(self, variant: str, runtime: ModelRuntime) -> None:
        """Find out whether a variant raises whatever it is given: where it gives outputs, queries were to blame."""
        try:
            self._watched(self._variants[variant], runtime, sample_of(self._variants[variant], 1))
        except Exception as error:
            self._raised.blame(variant, reason(error))

    # -- beside batches ---------------------------------------------------------------------------------------

    def _make(self, variant: Variant) -> ModelRuntime:
        """The loaded runtime of a variant; raises whatever is in the way."""
        options = RuntimeOptions(self._spec.device, self._spec.threads, self._id or "")
        runtime = make_runtime(variant, self._store, options)
        runtime.load()
        return runtime

    def _make_or_reason(self, variant: Variant) -> ModelRuntime | str:
        try:
            return self._make(variant)
        except Exception as error:
            logger.exception("Variant %s could not be loaded.", variant.name)
            return reason(error)

    def _measure(self, variant: Variant, runtime: ModelRuntime, budget_s: float) -> LatencyProfile:
        sizes = [size for size in BATCH_SIZES if size <= variant.max_batch]
        inputs = {size: sample_of(variant, size) for size in sizes}

        def run(size: int) -> float:
            return self._batches.submit(self._timed, variant, runtime, inputs[size]).result()

        return profile_variant(run, self._spec.device, budget_s, batch_sizes=sizes)

    def _timed(self, variant: Variant, runtime: ModelRuntime, inputs: Arrays) -> float:
        """Seconds of a run without the wait for its turn."""
        started_s = time.perf_counter()
        self._watched(variant, runtime, inputs)
        return time.perf_counter() - started_s


async def _on(thread: Executor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.wrap_future(thread.submit(work, *args, **kwargs))


def _own_id() -> str | None:
    """Id of the Serve replica that this process is; None outside Serve."""
    try:
        return str(serve.get_replica_context().replica_id.unique_id)
    except RayServeException:
        return None
