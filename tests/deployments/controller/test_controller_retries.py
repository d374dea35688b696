"""Plans that failed, and workers that hold something else than the controller heard last."""

import asyncio
from collections.abc import Mapping

import pytest
from controller_parts import endpoint, pool, settings

from controller_scene import Service, play, started
from virtual_time import until


def test_a_plan_that_could_not_be_made_true_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        def unreachable(sizes: Mapping[str, int]) -> None:
            raise RuntimeError("the cluster's store is away")

        await started(service, digits=10.0)
        service.pools["cpu"].go("w1")
        await until(lambda: service.held().keys() == {"w2"}, within_s=3.0)
        service.on_publish = unreachable
        service.pools["cpu"].come("w3")
        await until(lambda: service.decisions[-1].why_not == "RuntimeError: the cluster's store is away")
        service.on_publish = lambda sizes: None
        await until(lambda: service.held().keys() == {"w2", "w3"}, within_s=10.0)

    play(monkeypatch, scene, settings({"digits": endpoint(by_tables=True)}, planner="everywhere"))


def test_a_load_that_ends_when_nobody_waits_any_more_is_known_to_the_next_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        assert service.held()["w2"] == ["slow"]
        service.workers["w2"].loaded.add("fast")
        service.routers["r1"].qps = {"digits": 150.0}
        await until(lambda: service.held()["w2"] == ["middle"], within_s=60.0)
        await service.steady()
        await asyncio.sleep(5.0)
        assert service.workers["w2"].loaded == {"middle"}

    play(monkeypatch, scene, settings(pools={"cpu": pool(memory=2)}))
