"""One controller after the other, and what is kept between them."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from controller_parts import DictStore, described, endpoint, settings

from catalog.errors import StateUnavailable
from controller_scene import Service, play, started
from deployments.controller import state_keeper
from deployments.controller.state_keeper import SAVE_EVERY_S
from deployments.state.load_history import HOUR_S, LoadHistory
from deployments.state.opening import StateIsBack
from virtual_time import until, wall_clock


def counted(service: Service, seconds: int, until_s: float) -> list[int]:
    """Queries to digits in each of the last whole seconds before an instant, as the load history has them."""
    documents = service.one._known.history.take_documents()
    found = []
    for second in range(int(until_s) - seconds, int(until_s)):
        found.append(documents[LoadHistory.document(second)]["digits"][second % HOUR_S])
    return found


def test_the_next_controller_goes_on_where_the_one_before_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        service.routers["r1"].runs = {("cpu", "slow", "w1"): 2.0}
        await service.one.register(described(tmp_path))
        await asyncio.sleep(30.0)
        before = service.one
        routing_table = service.routers["r1"].routing_table
        decision = service.in_force
        assert routing_table is not None
        service.end_control()
        await asyncio.sleep(5.0)
        assert service.routers["r1"].using == {"w1", "w2"}
        after = await service.control()
        assert after.variant("new") is not None
        assert after.plan()["version"] == decision.version
        assert after.plan()["corrections"][0]["factor"] == pytest.approx(before.plan()["corrections"][0]["factor"])
        loads = [each for each in service.pools["cpu"].done if each[0] == "load"]
        await until(lambda: service.in_force.version > decision.version)
        await service.steady()
        missed = [count for count in counted(service, seconds=30, until_s=wall_clock() - 3.0) if count != 10]
        assert len(missed) <= SAVE_EVERY_S  # the one before had not written them
        assert service.in_force.reason == "a controller took over"
        assert [each for each in service.pools["cpu"].done if each[0] == "load"] == loads
        assert service.routers["r1"].following > routing_table.version

    play(monkeypatch, scene, settings())


def test_what_waited_for_a_controller_is_no_burst_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        service.router("r2", digits=20.0)
        await started(service, digits=20.0)
        await asyncio.sleep(20.0)
        service.end_control()
        await asyncio.sleep(15.0)
        await service.control()
        await service.steady()
        await asyncio.sleep(5.0)
        seen = [each.demand_qps["digits"] for each in service.decisions if each.demand_qps]
        assert max(seen) < 60.0
        missed = [count for count in counted(service, seconds=30, until_s=wall_clock() - 3.0) if count != 40]
        assert len(missed) <= SAVE_EVERY_S  # the one before had not written them

    play(monkeypatch, scene, settings())


def test_plans_are_made_after_an_endpoint_was_taken_out_of_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0, urgent=10.0)
        await asyncio.sleep(10.0)
        fewer = replace(service.settings, endpoints={"digits": endpoint()})
        await service.control(fewer)  # routers of the application before still report both
        await service.steady()
        assert [each.why_not for each in service.decisions if each.state == "given up"] == []
        assert service.in_force.reason == "a controller took over"
        assert service.in_force.demand_qps.keys() == {"digits"}

    both = {"digits": endpoint(), "urgent": endpoint(slo_s=0.1)}
    play(monkeypatch, scene, settings(endpoints=both))


def test_a_store_that_takes_nothing_does_not_stop_the_service(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = DictStore()

    async def scene(service: Service) -> None:
        store.write("epoch", 1)
        await started(service, digits=10.0)
        assert service.one.condition()["state"] == {"saved": True, "since": None, "why_not": None}
        store.broken = True
        await asyncio.sleep(20.0)
        service.one.check()
        seen = service.one.condition()["state"]
        assert not seen["saved"]
        assert "no space left on device" in seen["why_not"]
        assert seen == service.one.plan()["state"]
        store.broken = False
        await asyncio.sleep(6.0)
        assert len(store.read("decisions")) == len(service.decisions)
        assert service.one.condition()["state"]["saved"]

    with caplog.at_level(logging.WARNING, "ray.serve"):
        play(monkeypatch, scene, settings(), store)
    said = [each.message for each in caplog.records if "state" in each.message]
    assert [message.split(";")[0].split(",")[0] for message in said] == [
        "The controller's state cannot be saved",
        "The controller's state is saved again",
    ], "once each, however often it was tried"


def test_a_controller_without_its_state_begins_anew_when_the_state_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(DictStore):
        """A store of which nothing can be had until it is back."""

        back = False

        def write(self, name: str, value: Any) -> None:
            if self.back:
                raise StateIsBack("the controller's state can be used again")
            raise StateUnavailable("no such place")

    store = Away()

    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await asyncio.sleep(20.0)
        service.one.check()
        assert service.one.condition()["state"]["why_not"] == "no such place"
        store.back = True
        await asyncio.sleep(6.0)
        with pytest.raises(RuntimeError, match="begins anew: the controller's state can be used again"):
            service.one.check()

    play(monkeypatch, scene, settings(), store)


def test_an_older_state_never_replaces_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        running = 0

        async def slowly(work: Any, *args: Any) -> Any:
            nonlocal running
            running += 1
            most.append(running)
            await asyncio.sleep(1.0)
            running -= 1
            return work(*args)

        most: list[int] = []
        monkeypatch.setattr(state_keeper, "write_all", lambda *args: None)
        monkeypatch.setattr(asyncio, "to_thread", slowly)
        await asyncio.gather(service.one._state.save(), service.one._state.save(), service.one._state.save())
        assert max(most) == 1

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_a_controller_that_does_not_go_round_any_more_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        await asyncio.sleep(100.0)
        service.one.check()

        async def fail() -> None:
            raise RuntimeError("played")

        monkeypatch.setattr(service.one._routing_tables, "settle", fail)
        await asyncio.sleep(60.0)
        with pytest.raises(RuntimeError):
            service.one.check()

    play(monkeypatch, scene, settings())
