"""Variants that are registered with played pools, in virtual time."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest
from controller_parts import PlayedPool, artifact, variant

from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from catalog.profiles.profile import LatencyProfile
from catalog.variant import Variant
from deployments.controller.variants.registration import profile_everywhere
from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control_settings import ControlSettings
from deployments.state.saved_state import ControllerState
from deployments.worker import membership
from deployments.worker.client import WorkerClient
from virtual_time import in_virtual_time, until, without_threads

LOAD = ClusterPlan(
    shares={"digits": {"w1": 0.2, "w2": 0.1}, "urgent": {"w2": 0.5, "w1": 0.1}},
    demand_qps={"digits": 100.0, "urgent": 10.0},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.0),
)
"""w1 has 21 queries a second of it and w2 15."""


class Scene:
    def __init__(self, config: ControlSettings) -> None:
        self.config = config
        self.pools = {name: PlayedPool(name) for name in config.pools}
        self.worker_registry = WorkerRegistry(cast("dict[str, WorkerClient]", self.pools), lambda worker, came: None)
        self.known = ControllerState(VariantBook(config))

    async def start(self) -> None:
        await self.worker_registry.start()
        await until(lambda: self.worker_registry.known)

    async def register(self, given: Variant) -> dict[str, LatencyProfile]:
        return await profile_everywhere(given, self.config, self.known, self.worker_registry, LOAD)

    @property
    def measured(self) -> list[str]:
        return [worker for pool in self.pools.values() for verb, worker, _ in pool.done if verb == "profile"]


def play(
    monkeypatch: pytest.MonkeyPatch, config: ControlSettings, scene: Callable[[Scene], Coroutine[Any, Any, None]]
) -> None:
    without_threads(monkeypatch)
    monkeypatch.setattr(membership, "_live", {})
    monkeypatch.setattr(membership, "_listeners", {})
    in_virtual_time(lambda: scene(Scene(config)))


def new(folder: Path, name: str = "new", **changes: Any) -> Variant:
    given = variant(name)
    return Variant(**(given.__dict__ | {"artifact": artifact(folder, "new.onnx", 7)} | changes))
