"""Who hears what, and whose workers are whose; routers and workers are played, also those that follow late."""

import asyncio
from collections import Counter
from dataclasses import replace

from routing_tables_scene import (
    ENDPOINTS,
    FAST,
    PlayedRouter,
    PlayedWorkerRegistry,
    content,
    newest,
    owners,
    routing_tables,
)

from autoscaler.placement.serving import Service
from autoscaler.placement.transition.parts import Part
from deployments.controller.routing_tables import SILENT_S, RoutingContent
from deployments.messages.control import RouterState
from dispatch.plan import EndpointLimits
from virtual_time import in_virtual_time, until, wall_clock


def test_a_router_hears_of_content_once_and_of_newer_ones_later() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1"))
        told.on_router_state(RouterState("r1", 0, frozenset()))
        waiting = asyncio.create_task(told.next("r1", 0, 5.0))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        await told.publish(replace(content(["w1"], 7), emulated=FAST))
        routing_table = await waiting
        assert routing_table is not None
        assert routing_table.plan_version == 7
        assert routing_table.endpoints == ENDPOINTS
        assert routing_table.emulated == FAST
        assert routing_table.workers["w1"].router == "r1"
        assert routing_table.workers["w1"].serves == FAST
        begun_s = wall_clock()
        assert await told.next("r1", routing_table.version, 5.0) is None
        assert 5.0 <= wall_clock() - begun_s < 5.1
        assert await told.next("new", 0, 5.0) == routing_table

    in_virtual_time(scene)


def test_versions_grow_over_controllers_and_within_one() -> None:
    async def scene() -> None:
        worker_registry, seen = PlayedWorkerRegistry("w1"), [0]
        for epoch in (1, 2, 3):
            told = routing_tables(worker_registry, epoch)
            for _ in range(3):
                version = await told.publish(content(["w1"]))
                assert version == newest(told).version > seen[-1]
                seen.append(version)

    in_virtual_time(scene)


def test_a_controller_whose_state_was_lost_is_followed_all_the_same() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1", router="r1"), epoch=1)
        told.on_router_state(RouterState("r1", 9_000_050, frozenset({"w1"})))
        version = await told.publish(content(["w1"]))
        assert not await told.followed(version, 1.0)
        assert (await told.next("r1", 9_000_050, 1.0)) == newest(told)

    in_virtual_time(scene)


def test_a_controller_that_was_replaced_stays_behind_whatever_routers_say() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1", router="r1"), epoch=1)
        await told.publish(content(["w1"]))
        told.on_router_state(RouterState("r1", 2_000_001, frozenset({"w1"})))
        assert await told.publish(content(["w1"])) < 2_000_000

    in_virtual_time(scene)


def test_a_plan_is_followed_when_the_last_router_follows_it() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1", "w2"))
        for router in ("r1", "r2"):
            told.on_router_state(RouterState(router, 0, frozenset()))
        version = await told.publish(content(["w1", "w2"]))
        waiting = asyncio.create_task(told.followed(version, 10.0))
        told.on_router_state(RouterState("r1", version, frozenset()))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        told.on_router_state(RouterState("r2", version + 1, frozenset()))
        assert await waiting
        assert not await told.followed(version + 1, 2.0)

    in_virtual_time(scene)


def test_a_router_that_is_gone_is_not_waited_for() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1"))
        for router in ("r1", "r2"):
            told.on_router_state(RouterState(router, 0, frozenset()))
        version = await told.publish(content(["w1"]))
        told.on_router_state(RouterState("r1", version, frozenset()))
        waiting = asyncio.create_task(told.followed(version, 10.0))
        await asyncio.sleep(0.1)
        told.on_router_gone("r2")
        assert await waiting
        assert told.routers == {"r1"}

    in_virtual_time(scene)


def test_a_router_is_silent_after_its_last_word_or_question() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1"))
        for router in ("asks", "speaks", "neither"):
            told.on_router_state(RouterState(router, 0, frozenset()))
        await asyncio.sleep(SILENT_S - 0.5)
        assert told.silent() == []
        told.on_router_state(RouterState("speaks", 0, frozenset()))
        assert await told.next("asks", 0, 0.1) is None
        await asyncio.sleep(1.0)
        assert told.silent() == ["neither"]
        await asyncio.sleep(SILENT_S)
        assert told.silent() == [], "nobody speaks: it is the machine"
        told.on_router_state(RouterState("speaks", 0, frozenset()))
        assert sorted(told.silent()) == ["asks", "neither"]

    in_virtual_time(scene)


def test_a_router_that_died_over_a_question_is_silent_whoever_else_speaks() -> None:
    async def scene() -> None:
        told = routing_tables(PlayedWorkerRegistry("w1"))
        for router in ("died", "lives"):
            told.on_router_state(RouterState(router, 0, frozenset()))
        asked = asyncio.create_task(told.next("died", 0, 20.0))  # nobody takes its question back
        for _ in range(8):
            await asyncio.sleep(SILENT_S / 6)
            told.on_router_state(RouterState("lives", 0, frozenset()))
        assert told.silent() == ["died"]
        asked.cancel()

    in_virtual_time(scene)


def test_a_second_router_gets_its_part_once_the_first_has_let_go() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2")
        told = routing_tables(worker_registry)
        first, second = PlayedRouter("r1", worker_registry), PlayedRouter("r2", worker_registry)
        told.on_router_state(first.router_state())
        await told.publish(content(["w1", "w2"]))
        first.follow(newest(told))
        told.on_router_state(first.router_state())
        assert first.using == {"w1", "w2"}

        first.busy = {"w1", "w2"}
        told.on_router_state(second.router_state())
        await told.settle()
        [passing] = [worker for worker, router in owners(told).items() if router is None]
        assert worker_registry.owner(passing) == "r1"
        await told.settle()
        assert worker_registry.owner(passing) == "r1"  # it does not know yet
        first.follow(newest(told))
        told.on_router_state(first.router_state())
        version = newest(told).version
        await told.settle()
        assert worker_registry.owner(passing) == "r1"  # its batch runs
        assert newest(told).version == version  # nothing to say
        first.end_batches()
        told.on_router_state(first.router_state())
        await told.settle()
        assert worker_registry.owner(passing) == "r2"
        assert Counter(owners(told).values()) == {"r1": 1, "r2": 1}

    in_virtual_time(scene)


def test_workers_of_a_router_that_is_gone_go_to_others_at_once() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2", router="lost")
        told = routing_tables(worker_registry)
        for router in ("lost", "left"):
            told.on_router_state(RouterState(router, 0, frozenset({"w1", "w2"}) if router == "lost" else frozenset()))
        await told.publish(content(["w1", "w2"]))
        told.on_router_gone("lost")
        await told.settle()
        assert owners(told) == {"w1": "left", "w2": "left"}
        told.on_router_gone("left")
        await told.settle()
        told.on_router_state(RouterState("back", 0, frozenset()))
        await told.settle()
        assert owners(told) == {"w1": "back", "w2": "back"}

    in_virtual_time(scene)


def test_workers_of_a_router_that_leaves_go_to_those_that_stay_once_it_has_let_go() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2", router="old")
        told = routing_tables(worker_registry)
        told.on_router_state(RouterState("old", 0, frozenset({"w1", "w2"})))
        await told.publish(content(["w1", "w2"]))
        told.on_router_state(RouterState("old", 0, frozenset({"w1", "w2"}), leaving=True))
        await told.settle()
        assert owners(told) == {"w1": "old", "w2": "old"}, "there is no other"
        told.on_router_state(RouterState("new", 0, frozenset()))
        await told.settle()
        assert owners(told) == {"w1": None, "w2": None}
        assert newest(told).routers == {"new"}
        told.on_router_state(RouterState("old", newest(told).version, frozenset({"w2"}), leaving=True))
        await told.settle()
        assert owners(told) == {"w1": "new", "w2": None}
        told.on_router_state(RouterState("old", newest(told).version, frozenset(), leaving=True))
        await told.settle()
        assert owners(told) == {"w1": "new", "w2": "new"}

    in_virtual_time(scene)


def test_a_worker_that_stays_after_all_is_given_back() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2", router="r1")
        told = routing_tables(worker_registry)
        told.on_router_state(RouterState("r1", 0, frozenset({"w1", "w2"})))
        await told.publish(content(["w1", "w2"]))
        told.on_router_state(RouterState("r2", 0, frozenset()))
        await told.settle()
        assert None in owners(told).values()
        told.on_router_gone("r2")
        await told.settle()
        assert owners(told) == {"w1": "r1", "w2": "r1"}
        assert worker_registry.told == []

    in_virtual_time(scene)


def test_a_worker_that_does_not_answer_is_tried_again_and_holds_up_no_other() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2")
        worker_registry.deaf = {"w1"}
        told = routing_tables(worker_registry)
        told.on_router_state(RouterState("r1", 0, frozenset()))
        await told.publish(content(["w1", "w2"]))
        assert owners(told) == {"w1": None, "w2": "r1"}
        worker_registry.deaf.clear()
        await told.settle()
        assert owners(told) == {"w1": "r1", "w2": "r1"}

    in_virtual_time(scene)


def test_workers_that_a_plan_does_not_use_are_in_nobodys_hands() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1", "w2")
        told = routing_tables(worker_registry)
        told.on_router_state(RouterState("r1", 0, frozenset()))
        await told.publish(content(["w1", "gone"]))
        assert owners(told) == {"w1": "r1"}
        assert worker_registry.owner("w2") is None

    in_virtual_time(scene)


def test_who_asks_hears_of_hand_overs_without_a_new_plan() -> None:
    async def scene() -> None:
        worker_registry = PlayedWorkerRegistry("w1")
        told = routing_tables(worker_registry)
        version = await told.publish(content(["w1"], 3))
        waiting = asyncio.create_task(told.next("r1", version, 10.0))
        await asyncio.sleep(0.1)
        told.on_router_state(RouterState("r1", version, frozenset()))
        await told.settle()
        await until(waiting.done)
        routing_table = waiting.result()
        assert routing_table is not None
        assert routing_table.plan_version == 3
        assert routing_table.workers["w1"].router == "r1"

    in_virtual_time(scene)


def test_of_a_change_only_its_parts_are_told_and_slowdowns_that_were_known_stay() -> None:
    def content(version: int, held: str, slowdowns: dict[str, dict[str, float]]) -> RoutingContent:
        serves = {worker: frozenset([held]) for worker in ("w1", "w2", "w3")}
        endpoints = {name: Service(EndpointLimits(0.1 * version, True, 9), {}, None, {}) for name in ("a", "b")}
        return RoutingContent(version, endpoints, serves, {}, {}, slowdowns=slowdowns, planned=serves)

    before = content(1, "old", {"w1": {"old": 1.1}, "w2": {"old": 1.2}})
    later = content(2, "new", {"w1": {"old": 1.4, "new": 1.5}, "w2": {"new": 1.6}, "w3": {"new": 1.7}})
    del later.serves["w3"]  # type: ignore[attr-defined]
    told = before.with_parts(later, [Part(frozenset("a"), frozenset(["w1", "w3"]))])
    assert told.plan_version == 1
    assert told.endpoints == {"a": later.endpoints["a"], "b": before.endpoints["b"]}
    assert told.serves == {"w1": {"new"}, "w2": {"old"}}
    assert told.slowdowns == {"w1": {"old": 1.1, "new": 1.5}, "w2": {"old": 1.2}, "w3": {"new": 1.7}}
