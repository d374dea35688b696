"""Whatever comes and goes, and whenever: nothing goes wrong on the way, and in the end there is a plan in force."""

import asyncio
from collections.abc import Iterable

import numpy as np
import pytest
from controller_parts import RUN_S, endpoint, pool, settings

from controller_scene import Service, play


class History:
    """Events at random instants; controllers, routers and workers die in the middle of whatever they do."""

    def __init__(self, service: Service, rng: np.random.Generator) -> None:
        self._service = service
        self._rng = rng
        self._named = 0

    async def play(self, events: int) -> None:
        service = self._service
        self._worker_comes()
        self._router_comes()
        await service.control()
        steps = (
            *(self._worker_comes, self._worker_comes, self._worker_goes, self._router_comes, self._router_dies),
            *(self._load, self._load, self._load, self._break_variant, self._mend, self._slow_down),
        )
        for _ in range(events):
            await asyncio.sleep(self._rng.exponential(1.5))
            step = self._rng.integers(0, len(steps) + 2)
            if step < len(steps):
                steps[step]()
            elif service.controller is None:
                await service.control()
            else:
                service.end_control()
        await self._end()

    async def _end(self) -> None:
        service = self._service
        self._mend()
        self._worker_comes()
        self._router_comes()
        await asyncio.sleep(5.0)
        if service.controller is None:
            await service.control()
        await asyncio.sleep(70.0)  # until what could not be loaded is tried again
        await service.steady(within_s=60.0)
        held = {worker: set(names) for worker, names in service.held().items()}
        assert {worker: there.loaded for worker, there in service.workers.items() if there.loaded} == held
        assert held.keys() <= service.workers.keys()
        assert service.decisions[-1].why_not is None

    def _worker_comes(self) -> None:
        self._named += 1
        self._service.pools[self._one(self._service.pools)].come(f"w{self._named}")

    def _worker_goes(self) -> None:
        of = self._service.pools[self._one(self._service.pools)]
        if of.workers:
            of.go(self._one(of.workers))

    def _router_comes(self) -> None:
        if len(self._service.routers) < 3:
            self._named += 1
            self._service.router(f"r{self._named}", digits=20.0)

    def _router_dies(self) -> None:
        if len(self._service.routers) > 1:
            self._service.routers.pop(self._one(self._service.routers)).die()

    def _load(self) -> None:
        qps = {name: float(self._rng.choice([0.0, 20.0, 100.0, 500.0])) for name in self._service.settings.endpoints}
        self._service.routers[self._one(self._service.routers)].qps = qps

    def _break_variant(self) -> None:
        self._service.pools[self._one(self._service.pools)].broken[self._one(RUN_S)] = "no such operator"

    def _mend(self) -> None:
        for of in self._service.pools.values():
            of.broken.clear()

    def _slow_down(self) -> None:
        self._service.pools[self._one(self._service.pools)].load_s = float(self._rng.choice([0.1, 0.5, 3.0]))

    def _one(self, names: Iterable[str]) -> str:
        ordered = sorted(names)
        return ordered[self._rng.integers(0, len(ordered))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("memory_bytes", [1.0, 3.0])
def test_any_history_ends_with_a_plan_in_force(monkeypatch: pytest.MonkeyPatch, seed: int, memory_bytes: float) -> None:
    async def scene(service: Service) -> None:
        await History(service, np.random.default_rng(seed)).play(events=40)

    endpoints = {"digits": endpoint(pools=("cpu", "gpu")), "urgent": endpoint(slo_s=0.05, pools=("cpu", "gpu"))}
    pools = {"cpu": pool(4, memory=memory_bytes), "gpu": pool(4, memory=memory_bytes)}
    play(monkeypatch, scene, settings(endpoints, pools))
