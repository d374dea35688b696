"""A plan is made true step by step, while routers follow and workers load; both are played."""

import asyncio
from dataclasses import replace

import pytest
from controller_parts import PlayedPool, pool, settings
from rollout_scene import Scene, play

from catalog.variant import Variant
from deployments.controller.rollout_runner import FOLLOW_S
from deployments.controller.variants.variant_book import VariantBook
from deployments.controller.worker_registry import CALL_TIMEOUT_S
from deployments.messages.worker import WorkerReport
from deployments.state.decisions import Decision
from deployments.state.unloadable import FIRST_S
from virtual_time import wall_clock


def test_the_new_is_loaded_then_routers_switch_then_the_old_goes_and_sizes_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="fast")
        assert await played.run(w1="fast", w2="fast") is None
        assert played.log == [
            ("load", "w1", "fast"),
            ("follow", "", "{'w1': ['fast'], 'w2': ['fast']}"),
            ("unload", "w1", "slow"),
            ("sizes", "", "{'cpu': 2}"),
        ]
        assert played.decision.state == "in force"
        assert played.decision.loading == {"w1": ["fast"]}
        assert played.decision.in_force_s == pytest.approx(0.6, abs=0.05)
        assert played.decision.workers["w1"] == {"pool": "cpu", "device": "cpu", "router": "r1"}

    play(monkeypatch, scene)


def test_where_both_do_not_fit_routers_leave_the_old_before_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="fast")
        assert await played.run(w1="fast", w2="fast") is None
        assert played.log == [
            ("follow", "", "{'w1': [], 'w2': ['fast']}"),
            ("unload", "w1", "slow"),
            ("load", "w1", "fast"),
            ("follow", "", "{'w1': ['fast'], 'w2': ['fast']}"),
            ("sizes", "", "{'cpu': 2}"),
        ]

    play(monkeypatch, scene, memory_bytes=1)


def test_a_variant_that_cannot_be_loaded_ends_it_and_what_was_served_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "no such operator"
        await played.start(w1="slow", w2="slow")
        reason = await played.run(w1="fast", w2="slow")
        assert reason == "fast cannot be loaded in pool cpu"
        assert played.decision.state == "given up"
        assert played.decision.why_not == reason
        assert played.decision.failed == {"w1": {"fast": "no such operator"}}
        unloadable, now_s = played.known.unloadable, wall_clock()
        assert unloadable.in_pools(now_s) == unloadable.in_pools(now_s + FIRST_S - 1.0) == {("cpu", "fast")}
        assert unloadable.in_pools(now_s + FIRST_S) == unloadable.on_workers(now_s) == frozenset()
        assert played.log == [("load", "w1", "fast")]  # nobody was told anything
        assert played.pool.workers["w1"].loaded == {"slow"}

    play(monkeypatch, scene)


def test_what_one_worker_cannot_load_and_another_holds_is_left_out_on_that_worker_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "its checksum is another"
        await played.start(w1="slow fast", w2="")
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert played.serves == {"w1": {"slow", "fast"}, "w2": {"slow"}}
        assert played.decision.state == "in force"
        assert played.decision.failed == {"w2": {"fast": "its checksum is another"}}
        now_s = wall_clock()
        assert played.known.unloadable.on_workers(now_s) == {("w2", "fast")}
        assert played.known.unloadable.in_pools(now_s) == frozenset()
        played.log.clear()
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert not [each for each in played.log if each[0] in ("load", "unload")], "it is not tried again so soon"
        await asyncio.sleep(FIRST_S)
        played.pool.broken.clear()
        assert await played.run(w1="slow fast", w2="slow fast") is None
        assert played.serves == {"w1": {"slow", "fast"}, "w2": {"slow", "fast"}}

    play(monkeypatch, scene)


def test_what_nobody_holds_any_more_is_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "its checksum is another"
        await played.start(w1="slow fast", w2="")
        assert await played.run(w1="slow fast", w2="slow fast") is None
        played.pool.go("w1")
        assert await played.run(w2="slow fast") == "fast cannot be loaded in pool cpu"
        assert played.known.unloadable.in_pools(wall_clock()) == {("cpu", "fast")}

    play(monkeypatch, scene)


def test_a_worker_that_goes_while_it_loads_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.2)
        played.pool.go("w1")
        assert await running is None
        assert played.serves == {"w2": frozenset({"fast"})}
        assert played.decision.workers.keys() == {"w2"}

    play(monkeypatch, scene)


def test_a_worker_that_goes_before_it_unloads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.55)
        played.pool.go("w1")
        assert await running is None
        assert played.decision.state == "in force"
        assert played.pool.workers["w2"].loaded == {"fast"}

    play(monkeypatch, scene)


def test_what_a_dead_worker_was_to_hold_stays_with_others_before_serve_says_that_it_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow fast", w2="slow fast")
        del played.pool.workers["w2"]
        assert await played.run(w1="slow", w2="fast") is None
        assert played.serves == {"w1": frozenset({"slow", "fast"})}
        assert played.pool.workers["w1"].loaded == {"slow", "fast"}

    play(monkeypatch, scene)


def test_workers_without_a_place_in_the_plan_let_go_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow fast")
        assert await played.run(w1="slow") is None
        assert played.pool.workers["w2"].loaded == set()
        assert played.serves == {"w1": frozenset({"slow"})}

    play(monkeypatch, scene)


def test_workers_to_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow")
        assert await played.run(**{"w1": "slow", "cpu+1": "slow"}) is None
        assert played.serves.keys() == {"w1"}
        assert played.log[-1] == ("sizes", "", "{'cpu': 2}")

    play(monkeypatch, scene)


def test_workers_load_variants_with_the_batches_that_fit_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: dict[str, int] = {}
    load = PlayedPool.load

    async def noted(pool: PlayedPool, worker: str, variant: Variant) -> WorkerReport:
        loaded[variant.name] = variant.max_batch
        return await load(pool, worker, variant)

    async def scene(played: Scene) -> None:
        config = settings(pools={"cpu": replace(pool(), batch_bytes=30.0)})
        large = tuple(replace(each, row_bytes=10) for each in config.variants)
        played.known.book = VariantBook(replace(config, variants=large))
        await played.start(w1="slow")
        assert await played.run(w1="fast") is None
        assert loaded == {"fast": 3}

    monkeypatch.setattr(PlayedPool, "load", noted)
    play(monkeypatch, scene)


def test_a_router_that_does_not_follow_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        played.follows = False
        assert await played.run(w1="fast", w2="fast") is None
        assert played.decision.in_force_s == pytest.approx(0.5 + FOLLOW_S, abs=0.1)
        assert played.decision.state == "in force"

    play(monkeypatch, scene)


def test_the_decision_before_is_replaced_only_when_the_new_one_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        assert await played.run(w1="slow", w2="slow") is None
        first, played.decision = played.decision, played.known.decisions.begin("another", wall_clock())
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.3)
        states: list[Decision] = [first, played.decision]
        assert [each.state for each in states] == ["in force", "loading"]
        await running
        assert [each.state for each in states] == ["replaced", "in force"]

    play(monkeypatch, scene)


def test_fallbacks_of_a_plan_are_not_loaded_once_the_next_one_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        first = played.change({"w1": ("middle",), "w2": ("middle",)}, w1="slow", w2="slow")
        assert await played.runner.run(first, played.decision, wall_clock()) is None
        running = asyncio.create_task(played.run(w1="fast", w2="fast"))
        await asyncio.sleep(0.1)
        await played.runner.load_fallbacks(first, played.decision)
        assert await running is None
        await asyncio.sleep(0.2)
        assert played.serves == {"w1": {"fast"}, "w2": {"fast"}}
        followed = len(played.log)
        await played.runner.load_fallbacks(first, played.decision)
        await asyncio.sleep(1.0)
        assert played.log[followed:] == [], "nothing of the plan before is said once the next one is in force"
        assert not [each for each in played.log if each[2] == "middle"]

    play(monkeypatch, scene)


def test_what_a_dead_worker_was_to_hold_stays_with_others_while_fallbacks_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow fast", w2="slow fast")
        del played.pool.workers["w2"]
        change = played.change({"w1": ("middle",)}, w1="slow", w2="fast")
        assert await played.runner.run(change, played.decision, wall_clock()) is None
        await played.runner.load_fallbacks(change, played.decision)
        await asyncio.sleep(0.2)
        assert played.serves == {"w1": {"slow", "middle", "fast"}}

    play(monkeypatch, scene)


def test_a_load_that_takes_too_long_fails_and_its_worker_serves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await played.start(w1="slow", w2="slow")
        assert await played.run(w1="slow", w2="slow") is None
        before = dict(played.serves)
        played.pool.load_s = 2 * CALL_TIMEOUT_S
        assert await played.run(w1="fast", w2="fast") == "fast cannot be loaded in pool cpu"
        assert played.decision.failed["w1"] == {"fast": "not loaded within 300 s"}
        assert played.serves == before == {"w1": {"slow"}, "w2": {"slow"}}

    play(monkeypatch, scene)
