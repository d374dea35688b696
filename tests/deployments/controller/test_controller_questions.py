"""What people ask of a controller: other settings, new variants, plans for loads that are not there."""

import asyncio
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

import pytest
from controller_parts import described, endpoint, settings

from catalog.errors import BadRequest
from catalog.variant import Variant
from controller_scene import Service, play, started
from deployments.messages.worker import WorkerReport
from virtual_time import until


def test_a_change_of_objective_makes_a_new_plan_and_the_same_config_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.one.change(service.settings)
        await asyncio.sleep(1.0)
        assert len(service.decisions) == 1
        # slow takes 32 ms, and two of them do not fit
        service.one.change(replace(service.settings, endpoints={"digits": endpoint(slo_s=0.06)}))
        await until(lambda: service.held() == {"w1": ["middle"], "w2": ["middle"]})
        assert service.in_force.reason == "the config changed"
        assert service.one.plan()["slo_ms"] == {"digits": 60.0}
        await service.steady()
        routing_table = service.routers["r1"].routing_table
        assert routing_table is not None
        assert routing_table.endpoints["digits"].limits.slo_s == 0.06

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_registered_variant_is_profiled_and_planned_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        made = await service.one.register(described(tmp_path))
        assert made["variant"] == "new"
        assert made["profiles"] == {"cpu": {"batch_sizes": [1, 2, 4], "p95_ms": pytest.approx([4.0, 8.0, 16.0])}}
        assert service.one.variant("new") is not None
        await until(lambda: service.held() == {"w1": ["new"], "w2": ["new"]})
        assert service.in_force.reason == "variant new was registered"

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_an_unregistered_variant_is_let_go_of_and_may_come_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        before = service.held()
        await service.one.register(described(tmp_path))
        await until(lambda: service.held() == {"w1": ["new"], "w2": ["new"]})
        assert await service.one.unregister("new") == {"variant": "new"}
        assert service.one.variant("new") is None
        with pytest.raises(BadRequest, match=r"workers still hold the 'new' of before \(w1, w2\)"):
            await service.one.register(described(tmp_path))
        await until(lambda: service.held() == before)
        assert service.in_force.reason == "variant new was unregistered"
        for name, words in (("new", "no variant 'new'"), ("slow", "'slow' is in the service's config")):
            with pytest.raises(BadRequest, match=words):
                await service.one.unregister(name)
        await service.one.register(described(tmp_path))
        await until(lambda: service.held() == {"w1": ["new"], "w2": ["new"]})

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_what_was_answered_holds_for_a_controller_that_begins_right_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await service.one.register(described(tmp_path))
        await service.control()
        assert service.one.variant("new") is not None
        await service.one.unregister("new")
        await service.control()
        assert service.one.variant("new") is None

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_wrong_variant_or_load_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        for wrong, words in (
            (described(tmp_path, accuracy=1.5), "accuracy"),
            (described(tmp_path, "slow"), "repeats slow"),
            (described(tmp_path, task="letters"), "no endpoint here would be served by it"),
            (described(tmp_path, artifact={"uri": str(tmp_path / "missing.onnx")}), "missing.onnx"),
        ):
            with pytest.raises(BadRequest, match=words):
                await service.one.register(wrong)
        assert service.one.variant("new") is None
        for load, words in (({"letters": 1.0}, "'letters'.*digits"), ({"digits": -1.0}, "-1.0")):
            with pytest.raises(BadRequest, match=words):
                await service.one.simulate(load)
        assert len(service.decisions) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_simulation_says_what_would_be_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        would = await service.one.simulate({"digits": 600.0})
        assert would["plan"]["held"] == {"w1": ["fast"], "w2": ["fast"]}
        assert would["now"] == service.in_force.plan
        await asyncio.sleep(3.0)
        assert len(service.decisions) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


REQUEST: ContextVar[str] = ContextVar("request", default="nobody's")


def test_what_a_request_sets_going_does_not_end_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        pool = service.pools["cpu"]
        load, seen = pool.load, []

        async def noted(worker: str, variant: Variant) -> WorkerReport:
            seen.append(REQUEST.get())
            return await load(worker, variant)

        monkeypatch.setattr(pool, "load", noted)
        REQUEST.set("the operator's")
        await service.one.register(described(tmp_path))
        await until(lambda: service.held() == {"w1": ["new"], "w2": ["new"]})
        assert seen == ["nobody's", "nobody's"], "Serve knows by its context which calls a request has made"

    play(monkeypatch, scene, settings(interval_s=1000.0))
