"""What has nothing to do with what still loads does not wait for it, and goes back with a plan that is given up."""

import asyncio
from collections.abc import Iterable

import pytest
from rollout_scene import Scene, play

from autoscaler.placement.serving import Service
from autoscaler.placement.transition.rollout import Rollout
from deployments.controller.rollout_runner import RolloutRunner
from dispatch.plan import EndpointLimits
from dispatch.selection.policy import Candidate
from virtual_time import wall_clock


def served_by(*variants: str) -> Service:
    candidates = tuple(Candidate(name, 0.9, (0.0, 0.01)) for name in variants)
    return Service(EndpointLimits(0.2, True, 500), {"cpu": candidates}, {}, {})


TWO_ENDPOINTS = {"digits": served_by("slow", "middle"), "letters": served_by("fast")}


async def _with_two_endpoints(played: Scene, w1: str = "slow") -> None:
    """w1 and w2 serve digits, w3 nothing yet."""
    played.endpoints = TWO_ENDPOINTS
    await played.start(w1=w1, w2="slow", w3="")
    assert await played.run(w1=w1, w2="slow", w3="") is None
    played.log.clear()
    played.decision = played.known.decisions.begin("another", wall_clock())


def test_what_shares_no_worker_with_those_that_load_does_not_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w3="fast") is None
        assert played.log == [
            ("load", "w3", "fast"),
            ("follow", "", "{'w1': ['slow'], 'w3': []}"),
            ("follow", "", "{'w1': ['slow'], 'w3': ['fast']}"),
            ("unload", "w2", "slow"),
            ("sizes", "", "{'cpu': 2}"),
        ]

    play(monkeypatch, scene)


def test_each_part_switches_when_its_own_workers_have_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played, w1="")
        running = asyncio.create_task(played.run(w1="slow middle", w2="slow", w3="fast"))  # 1 s on w1, 0.5 on w3
        await asyncio.sleep(0.8)
        assert played.decision.state == "loading"
        assert played.serves == {"w1": set(), "w2": {"slow"}, "w3": {"fast"}}
        assert await running is None
        assert played.serves == {"w1": {"slow", "middle"}, "w2": {"slow"}, "w3": {"fast"}}

    play(monkeypatch, scene)


def test_workers_that_pass_from_one_endpoint_to_another_switch_with_all_of_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w2="fast", w3="middle") is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['slow'], 'w2': ['fast'], 'w3': ['middle']}"]

    play(monkeypatch, scene)


def test_a_part_that_has_switched_goes_back_where_another_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "no such operator"
        await _with_two_endpoints(played)
        assert await played.run(w1="slow", w3="fast") == "fast cannot be loaded in pool cpu"
        await asyncio.sleep(0.2)
        assert played.decision.state == "given up"
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['slow'], 'w3': []}", "{'w1': ['slow'], 'w2': ['slow'], 'w3': []}"]
        assert played.pool.workers["w2"].loaded == {"slow"}

    play(monkeypatch, scene)


def test_workers_that_serve_an_endpoint_with_what_it_is_to_lose_wait_for_its_new_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        played.endpoints = {"digits": served_by("middle"), "letters": served_by("fast")}
        # w1 and w2 pass to letters, and nobody but w3, which loads, is left for digits
        assert await played.run(w1="fast", w2="fast", w3="middle") is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed == ["{'w1': ['fast'], 'w2': ['fast'], 'w3': ['middle']}"]

    play(monkeypatch, scene)


@pytest.mark.parametrize("known", [True, False], ids=["gone", "gone, and Serve has not said so"])
def test_a_part_that_loses_a_worker_waits_for_the_rest(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        running = asyncio.create_task(played.run(w2="slow", w3="fast"))
        if known:
            played.pool.go("w2")
        else:
            del played.pool.workers["w2"]
        assert await running is None
        followed = [what for verb, _, what in played.log if verb == "follow"]
        assert followed[-1] == "{'w1': ['slow'], 'w3': ['fast']}", "what only w2 was to serve stays with w1"
        assert all("'w1': ['slow']" in what for what in followed)

    play(monkeypatch, scene)


def test_what_was_taken_back_does_not_switch_when_another_load_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    load = RolloutRunner._load

    async def fails_on_w1(runner: RolloutRunner, rollout: Rollout, worker: str, variants: Iterable[str]) -> None:
        if worker == "w1":
            raise RuntimeError("something unforeseen")
        await load(runner, rollout, worker, variants)

    async def scene(played: Scene) -> None:
        await _with_two_endpoints(played)
        monkeypatch.setattr(RolloutRunner, "_load", fails_on_w1)
        with pytest.raises(RuntimeError, match="something unforeseen"):
            await played.run(w1="middle", w2="slow", w3="fast")
        await asyncio.sleep(2.0)
        assert played.pool.workers["w3"].loaded == {"fast"}
        assert [what for verb, _, what in played.log if verb == "follow"] == []

    play(monkeypatch, scene)


def test_a_part_whose_old_variant_was_unloaded_stays_switched_where_another_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is room for one variant: going back would leave a worker that holds the new one unused."""

    async def scene(played: Scene) -> None:
        played.pool.broken["fast"] = "no such operator"
        played.endpoints = {"digits": served_by("slow"), "letters": served_by("slow")}
        await played.start(w1="slow", w2="slow")
        assert await played.run(w1="slow", w2="slow") is None
        played.decision = played.known.decisions.begin("another", wall_clock())
        played.endpoints = {"digits": served_by("middle"), "letters": served_by("fast")}
        assert await played.run(w1="middle", w2="fast") == "fast cannot be loaded in pool cpu"
        await asyncio.sleep(0.2)
        assert played.serves == {"w1": {"middle"}, "w2": set()}
        content = played.routing_tables.content
        assert content is not None
        assert {name: service.variants for name, service in content.endpoints.items()} == {
            "digits": {"middle"},
            "letters": {"slow"},
        }

    play(monkeypatch, scene, memory_bytes=1)
