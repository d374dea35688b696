"""Pieces of a played service: settings, variants, a store in memory, and pools whose workers answer as told."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from autoscaler.loop.sizing import Bounds
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.messages.control_settings import ControlSettings, EndpointSettings, PoolSettings, StageSettings
from deployments.messages.worker import WorkerReport
from deployments.worker import membership
from deployments.worker.client import WorkerGone
from dispatch.plan import EndpointLimits
from dispatch.query import ONLY_STAGE
from dispatch.worker_info import WorkerInfo

TENSORS = (TensorSpec("x", "FP32", (-1,)),)

RUN_S = {"slow": 0.030, "middle": 0.010, "fast": 0.002}
"""A row's time by variant, the same in batches of any size: capacities are 33, 100 and 500 queries a second."""

ACCURACY = {"slow": 0.9, "middle": 0.8, "fast": 0.7}


def variant(name: str, task: str = "digits", accuracy: float | None = None, max_batch: int = 4) -> Variant:
    of = ACCURACY.get(name, 0.5) if accuracy is None else accuracy
    return Variant(name, task, "onnx", Artifact(f"{name}.onnx"), of, TENSORS, TENSORS, max_batch=max_batch)


def runs_s(row_s: float, rows: int = 4) -> tuple[float, ...]:
    return tuple(row_s * n for n in range(rows + 1))


def endpoint(**changes: Any) -> EndpointSettings:
    """An endpoint of 200 ms that drops late queries, unless changed; limits are changed by their own names."""
    limits = {"slo_s": 0.2, "drop_late": True, "max_queued_rows": 500}
    limits |= {name: changes.pop(name) for name in limits.keys() & changes.keys()}
    given: dict[str, Any] = {
        "stages": {ONLY_STAGE: StageSettings(changes.pop("task", "digits"), changes.pop("variants", None))},
        "limits": EndpointLimits(**limits),
        "pools": ("cpu",),
        "by_tables": False,
        "launches_ahead": True,
    }
    return EndpointSettings(**(given | changes))


def pool(workers: int = 2, least: int | None = None, most: int | None = None, memory: float = inf) -> PoolSettings:
    bounds = Bounds(workers if least is None else least, workers if most is None else most)
    return PoolSettings("cpu", workers, bounds, memory, 1.0)


def settings(
    endpoints: Mapping[str, EndpointSettings] | None = None,
    pools: Mapping[str, PoolSettings] | None = None,
    **changes: Any,
) -> ControlSettings:
    """One endpoint, one pool of two workers and three variants of one byte each, unless said otherwise."""
    pools = pools or {"cpu": pool()}
    given: dict[str, Any] = {
        "planner": "proteus",
        "interval_s": 10.0,
        "state": "",
        "transport_s": 0.002,
        "artifact_root": ".",
        "endpoints": endpoints or {"digits": endpoint()},
        "pools": pools,
        "variants": tuple(variant(name) for name in RUN_S),
        "profiled_s": {(name, of): runs_s(row_s) for name in pools for of, row_s in RUN_S.items()},
        "memory_bytes": dict.fromkeys(RUN_S, 1),
    }
    return ControlSettings(**(given | changes))


class DictStore:
    """A state store in memory, of JSON all the same; ``broken`` it takes nothing."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.broken = False

    def read(self, name: str) -> Any | None:
        return json.loads(self.values[name]) if name in self.values else None

    def write(self, name: str, value: Any) -> None:
        if self.broken:
            raise OSError("no space left on device")
        self.values[name] = json.dumps(value, allow_nan=False)

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.values if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self.values.pop(name, None)


@dataclass
class PlayedWorker:
    loaded: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    router: str | None = None


class PlayedPool:
    """The client of one pool; ``broken`` variants cannot be loaded there, others not on workers of ``broken_on``.

    Memory that overflows fails the test."""

    def __init__(self, name: str, memory_bytes: float = inf) -> None:
        self.name = name
        self.workers: dict[str, PlayedWorker] = {}
        self.broken: dict[str, str] = {}
        self.broken_on: dict[tuple[str, str], str] = {}
        self.load_s = 0.5
        self.done: list[tuple[str, str, str]] = []
        self.overflows: list[str] = []
        self.row_s = 0.004
        self._memory_bytes = memory_bytes

    def follow(self) -> None:
        self.tell()

    def tell(self) -> None:
        membership.update(self.name, frozenset(self.workers))

    def come(self, *workers: str) -> None:
        for worker in workers:
            self.workers[worker] = PlayedWorker()
        self.tell()

    def go(self, *workers: str) -> None:
        for worker in workers:
            del self.workers[worker]
        self.tell()

    def forget(self, worker: str) -> None:
        pass

    async def describe(self, worker: str) -> WorkerReport:
        return await self._answer(worker)

    async def assign(self, worker: str, router: str | None) -> WorkerReport:
        self._there(worker).router = router
        return await self._answer(worker)

    async def load(self, worker: str, variant: Variant) -> WorkerReport:
        self.done.append(("load", worker, variant.name))
        await asyncio.sleep(self.load_s)
        there = self._there(worker)
        if (reason := self.broken_on.get((worker, variant.name), self.broken.get(variant.name))) is not None:
            there.failed[variant.name] = reason
        else:
            there.failed.pop(variant.name, None)
            there.loaded.add(variant.name)
            if len(there.loaded) > self._memory_bytes:
                self.overflows.append(f"{worker} holds {sorted(there.loaded)}")
        return await self._answer(worker)

    async def unload(self, worker: str, variant: str) -> WorkerReport:
        self.done.append(("unload", worker, variant))
        self._there(worker).loaded.discard(variant)
        return await self._answer(worker)

    async def profile(self, worker: str, variant: Variant, budget_s: float) -> LatencyProfile:
        self.done.append(("profile", worker, variant.name))
        await asyncio.sleep(budget_s)
        self._there(worker)
        return LatencyProfile("cpu", {n: BatchLatency(9, *[1e3 * n * self.row_s] * 6) for n in (1, 2, 4)})

    def _there(self, worker: str) -> PlayedWorker:
        if worker not in self.workers:
            raise WorkerGone(f"{worker} is not there")
        return self.workers[worker]

    async def _answer(self, worker: str) -> WorkerReport:
        await asyncio.sleep(0.001)
        there = self._there(worker)
        return WorkerReport(
            WorkerInfo("cpu", self.name), tuple(sorted(there.loaded)), dict(there.failed), 0, there.router
        )


def artifact(folder: Path, name: str, size_bytes: int = 5) -> Artifact:
    """A model file of that many bytes."""
    (folder / name).write_bytes(b"x" * size_bytes)
    return Artifact(str(folder / name))


def described(folder: Path, name: str = "new", **changes: Any) -> dict[str, Any]:
    tensors = [{"name": "x", "datatype": "FP32", "shape": [-1]}]
    given = {"name": name, "task": "digits", "runtime": "onnx", "artifact": {"uri": artifact(folder, name).uri}}
    return given | {"accuracy": 0.95, "inputs": tensors, "outputs": tensors, "max_batch": 4} | changes
