"""Who hears what, and whose workers are whose; routers and workers are played, also those that follow late."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from deployments.control_messages import Directive, EndpointTerms, RouterStanding
from deployments.directives import SILENT_S, Directives, Terms
from deployments.fleet import Fleet
from deployments.worker_client import WorkerGone
from deployments.worker_messages import WorkerReport
from virtual_time import in_virtual_time, until, wall_clock

ENDPOINTS = {"digits": EndpointTerms(0.1, False, 100, {}, None, {}, ("fast",))}
FAST = frozenset({"fast"})


class PlayedFleet:
    """Workers that obey at once, save those that are ``deaf``."""

    def __init__(self, *workers: str, router: str | None = None) -> None:
        self.reports: dict[str, WorkerReport] = {}
        self.deaf: set[str] = set()
        self.told: list[tuple[str, str]] = []
        for worker in workers:
            self.come(worker, router)

    def come(self, worker: str, router: str | None = None) -> None:
        self.reports[worker] = WorkerReport("pool", "cpu", ("fast",), router=router)

    async def obey(self, worker: str, router: str) -> WorkerReport:
        await asyncio.sleep(0)
        if worker in self.deaf or worker not in self.reports:
            raise WorkerGone("played")
        self.told.append((worker, router))
        self.reports[worker] = replace(self.reports[worker], router=router)
        return self.reports[worker]

    def owner(self, worker: str) -> str | None:
        return self.reports[worker].router


class PlayedRouter:
    """Uses the workers that it was given and that obey it; one that is ``busy`` it lets go of when its batch ends."""

    def __init__(self, name: str, fleet: PlayedFleet) -> None:
        self.name = name
        self._fleet = fleet
        self.following = 0
        self.mine: frozenset[str] = frozenset()
        self.using: set[str] = set()
        self.busy: set[str] = set()
        self.said: list[RouterStanding] = []

    def follow(self, directive: Directive) -> None:
        assert directive.version > self.following
        self.following = directive.version
        self.mine = frozenset(worker for worker, terms in directive.workers.items() if terms.router == self.name)
        self.using &= self.mine | self.busy
        self.join()

    def join(self) -> None:
        """As a crew does: the worker itself must say that it is this router's."""
        there = {worker for worker, report in self._fleet.reports.items() if report.router == self.name}
        self.using |= self.mine & there

    def end_batches(self) -> None:
        self.busy.clear()
        self.using &= self.mine

    def standing(self) -> RouterStanding:
        self.said.append(RouterStanding(self.name, self.following, frozenset(self.using)))
        return self.said[-1]


def directives(fleet: PlayedFleet, epoch: int = 1) -> Directives:
    return Directives(cast(Fleet, fleet), epoch, wall_clock)


def terms(workers: Iterable[str], plan_version: int = 1) -> Terms:
    return Terms(plan_version, ENDPOINTS, dict.fromkeys(workers, FAST), {}, {"pool": 0.01})


def newest(told: Directives) -> Directive:
    assert told._current is not None
    return told._current


def owners(told: Directives) -> dict[str, str | None]:
    return {worker: each.router for worker, each in newest(told).workers.items()}


def test_a_router_hears_of_terms_once_and_of_newer_ones_later() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1"))
        told.on_standing(RouterStanding("r1", 0, frozenset()))
        waiting = asyncio.create_task(told.next("r1", 0, 5.0))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        await told.publish(terms(["w1"], 7))
        directive = await waiting
        assert directive is not None
        assert directive.plan_version == 7
        assert directive.endpoints == ENDPOINTS
        assert directive.workers["w1"].router == "r1"
        assert directive.workers["w1"].serves == FAST
        begun_s = wall_clock()
        assert await told.next("r1", directive.version, 5.0) is None
        assert 5.0 <= wall_clock() - begun_s < 5.1
        assert await told.next("new", 0, 5.0) == directive

    in_virtual_time(scene)


def test_versions_grow_over_controllers_and_within_one() -> None:
    async def scene() -> None:
        fleet, seen = PlayedFleet("w1"), [0]
        for epoch in (1, 2, 3):
            told = directives(fleet, epoch)
            for _ in range(3):
                version = await told.publish(terms(["w1"]))
                assert version == newest(told).version > seen[-1]
                seen.append(version)

    in_virtual_time(scene)


def test_a_controller_whose_state_was_lost_is_followed_all_the_same() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1", router="r1"), epoch=1)
        told.on_standing(RouterStanding("r1", 9_000_050, frozenset({"w1"})))
        version = await told.publish(terms(["w1"]))
        assert not await told.followed(version, 1.0)
        assert (await told.next("r1", 9_000_050, 1.0)) == newest(told)

    in_virtual_time(scene)


def test_a_controller_that_was_replaced_stays_behind_whatever_routers_say() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1", router="r1"), epoch=1)
        await told.publish(terms(["w1"]))
        told.on_standing(RouterStanding("r1", 2_000_001, frozenset({"w1"})))
        assert await told.publish(terms(["w1"])) < 2_000_000

    in_virtual_time(scene)


def test_a_plan_is_followed_when_the_last_router_follows_it() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1", "w2"))
        for router in ("r1", "r2"):
            told.on_standing(RouterStanding(router, 0, frozenset()))
        version = await told.publish(terms(["w1", "w2"]))
        waiting = asyncio.create_task(told.followed(version, 10.0))
        told.on_standing(RouterStanding("r1", version, frozenset()))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        told.on_standing(RouterStanding("r2", version + 1, frozenset()))
        assert await waiting
        assert not await told.followed(version + 1, 2.0)

    in_virtual_time(scene)


def test_a_router_that_is_gone_is_not_waited_for() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1"))
        for router in ("r1", "r2"):
            told.on_standing(RouterStanding(router, 0, frozenset()))
        version = await told.publish(terms(["w1"]))
        told.on_standing(RouterStanding("r1", version, frozenset()))
        waiting = asyncio.create_task(told.followed(version, 10.0))
        await asyncio.sleep(0.1)
        told.on_router_gone("r2")
        assert await waiting
        assert told.routers == {"r1"}

    in_virtual_time(scene)


def test_a_router_is_silent_after_its_last_word_or_question() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1"))
        for router in ("asks", "speaks", "neither"):
            told.on_standing(RouterStanding(router, 0, frozenset()))
        await asyncio.sleep(SILENT_S - 0.5)
        assert told.silent() == []
        told.on_standing(RouterStanding("speaks", 0, frozenset()))
        assert await told.next("asks", 0, 0.1) is None
        await asyncio.sleep(1.0)
        assert told.silent() == ["neither"]
        await asyncio.sleep(SILENT_S)
        assert sorted(told.silent()) == ["asks", "neither", "speaks"]

    in_virtual_time(scene)


def test_a_router_that_died_over_a_question_is_silent_whoever_else_speaks() -> None:
    async def scene() -> None:
        told = directives(PlayedFleet("w1"))
        for router in ("died", "lives"):
            told.on_standing(RouterStanding(router, 0, frozenset()))
        asked = asyncio.create_task(told.next("died", 0, 20.0))  # nobody takes its question back
        for _ in range(8):
            await asyncio.sleep(SILENT_S / 6)
            told.on_standing(RouterStanding("lives", 0, frozenset()))
        assert told.silent() == ["died"]
        asked.cancel()

    in_virtual_time(scene)


def test_a_second_router_gets_its_part_once_the_first_has_let_go() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1", "w2")
        told = directives(fleet)
        first, second = PlayedRouter("r1", fleet), PlayedRouter("r2", fleet)
        told.on_standing(first.standing())
        await told.publish(terms(["w1", "w2"]))
        first.follow(newest(told))
        told.on_standing(first.standing())
        assert first.using == {"w1", "w2"}

        first.busy = {"w1", "w2"}
        told.on_standing(second.standing())
        await told.settle()
        [passing] = [worker for worker, router in owners(told).items() if router is None]
        assert fleet.owner(passing) == "r1"
        await told.settle()
        assert fleet.owner(passing) == "r1"  # it does not know yet
        first.follow(newest(told))
        told.on_standing(first.standing())
        version = newest(told).version
        await told.settle()
        assert fleet.owner(passing) == "r1"  # its batch runs
        assert newest(told).version == version  # nothing to say
        first.end_batches()
        told.on_standing(first.standing())
        await told.settle()
        assert fleet.owner(passing) == "r2"
        assert Counter(owners(told).values()) == {"r1": 1, "r2": 1}

    in_virtual_time(scene)


def test_workers_of_a_router_that_is_gone_go_to_others_at_once() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1", "w2", router="lost")
        told = directives(fleet)
        for router in ("lost", "left"):
            told.on_standing(RouterStanding(router, 0, frozenset({"w1", "w2"}) if router == "lost" else frozenset()))
        await told.publish(terms(["w1", "w2"]))
        told.on_router_gone("lost")
        await told.settle()
        assert owners(told) == {"w1": "left", "w2": "left"}
        told.on_router_gone("left")
        await told.settle()
        told.on_standing(RouterStanding("back", 0, frozenset()))
        await told.settle()
        assert owners(told) == {"w1": "back", "w2": "back"}

    in_virtual_time(scene)


def test_a_worker_that_stays_after_all_is_given_back() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1", "w2", router="r1")
        told = directives(fleet)
        told.on_standing(RouterStanding("r1", 0, frozenset({"w1", "w2"})))
        await told.publish(terms(["w1", "w2"]))
        told.on_standing(RouterStanding("r2", 0, frozenset()))
        await told.settle()
        assert None in owners(told).values()
        told.on_router_gone("r2")
        await told.settle()
        assert owners(told) == {"w1": "r1", "w2": "r1"}
        assert fleet.told == []

    in_virtual_time(scene)


def test_a_worker_that_does_not_answer_is_tried_again_and_holds_up_no_other() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1", "w2")
        fleet.deaf = {"w1"}
        told = directives(fleet)
        told.on_standing(RouterStanding("r1", 0, frozenset()))
        await told.publish(terms(["w1", "w2"]))
        assert owners(told) == {"w1": None, "w2": "r1"}
        fleet.deaf.clear()
        await told.settle()
        assert owners(told) == {"w1": "r1", "w2": "r1"}

    in_virtual_time(scene)


def test_workers_that_a_plan_does_not_use_are_in_nobodys_hands() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1", "w2")
        told = directives(fleet)
        told.on_standing(RouterStanding("r1", 0, frozenset()))
        await told.publish(terms(["w1", "gone"]))
        assert owners(told) == {"w1": "r1"}
        assert fleet.owner("w2") is None

    in_virtual_time(scene)


def test_who_asks_hears_of_hand_overs_without_a_new_plan() -> None:
    async def scene() -> None:
        fleet = PlayedFleet("w1")
        told = directives(fleet)
        version = await told.publish(terms(["w1"], 3))
        waiting = asyncio.create_task(told.next("r1", version, 10.0))
        await asyncio.sleep(0.1)
        told.on_standing(RouterStanding("r1", version, frozenset()))
        await told.settle()
        await until(waiting.done)
        directive = waiting.result()
        assert directive is not None
        assert directive.plan_version == 3
        assert directive.workers["w1"].router == "r1"

    in_virtual_time(scene)


class History:
    """Any order of events; after each of them no worker is in two routers' hands, nor in those of one it denies."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._fleet = PlayedFleet("w0", "w1", "w2", "w3")
        self._epoch = 1
        self._told = directives(self._fleet)
        self._routers: dict[str, PlayedRouter] = {}
        self._dead: dict[str, PlayedRouter] = {}
        self._named = 4
        self._last_version = 0

    async def play(self) -> None:
        steps = (
            *(self._router_comes, self._router_dies, self._worker_comes, self._worker_goes, self._replaced),
            *(self._publish, self._settle, self._settle, self._follow, self._follow, self._follow),
            *(self._stand, self._stand, self._old_word, self._batch, self._batches_end),
        )
        for number in self._rng.integers(0, len(steps), 60):
            await steps[number]()
            self._check()
        await self._end()

    async def _router_comes(self) -> None:
        if len(self._routers) < 4:
            self._named += 1
            router = PlayedRouter(f"r{self._named}", self._fleet)
            self._routers[router.name] = router
            self._told.on_standing(router.standing())

    async def _router_dies(self) -> None:
        if (router := self._one(self._routers)) is not None:
            self._dead[router] = self._routers.pop(router)
            self._told.on_router_gone(router)

    async def _worker_comes(self) -> None:
        self._named += 1
        self._fleet.come(f"w{self._named}")

    async def _worker_goes(self) -> None:
        if (worker := self._one(self._fleet.reports)) is not None:
            del self._fleet.reports[worker]
            for router in self._routers.values():
                router.using.discard(worker)
                router.busy.discard(worker)

    async def _replaced(self) -> None:
        """Another controller, which first meets those that are there."""
        self._epoch += 1
        self._told = directives(self._fleet, self._epoch)
        for router in self._routers.values():
            self._told.on_standing(router.standing())

    async def _publish(self) -> None:
        there = [worker for worker in self._fleet.reports if self._rng.random() < 0.9]
        await self._told.publish(terms(there))

    async def _settle(self) -> None:
        deaf = self._one(self._fleet.reports)
        if deaf is not None and self._rng.random() < 0.3:
            self._fleet.deaf = {deaf}
        await self._told.settle()
        self._fleet.deaf = set()

    async def _follow(self) -> None:
        if (name := self._one(self._routers)) is not None:
            router = self._routers[name]
            directive = self._told._current
            if directive is not None and directive.version > router.following:
                router.follow(directive)
            router.join()

    async def _stand(self) -> None:
        if (name := self._one(self._routers)) is not None:
            self._told.on_standing(self._routers[name].standing())

    async def _old_word(self) -> None:
        """What a router said before arrives once more: words may overtake one another."""
        if (name := self._one(self._routers | self._dead)) is not None:
            said = (self._routers | self._dead)[name].said
            self._told.on_standing(said[self._rng.integers(0, len(said))])

    async def _batch(self) -> None:
        if (name := self._one(self._routers)) is not None:
            router = self._routers[name]
            if (worker := self._one(router.using & router.mine)) is not None:
                router.busy.add(worker)

    async def _batches_end(self) -> None:
        if (name := self._one(self._routers)) is not None:
            self._routers[name].end_batches()

    def _one(self, names: Iterable[str]) -> str | None:
        ordered = sorted(names)
        return ordered[self._rng.integers(0, len(ordered))] if ordered else None

    def _check(self) -> None:
        hands = Counter(worker for router in self._routers.values() for worker in router.using)
        assert all(count == 1 for count in hands.values()), hands
        for router in self._routers.values():
            assert all(self._fleet.owner(worker) == router.name for worker in router.using)
        directive = self._told._current
        if directive is not None:
            assert directive.version >= self._last_version
            self._last_version = directive.version

    async def _end(self) -> None:
        """Once everyone does what is asked, every worker is somebody's, and they are shared out evenly."""
        await self._router_comes()
        for router in self._dead:
            self._told.on_router_gone(router)
        await self._told.publish(terms(self._fleet.reports))
        for _ in range(4):
            for router in self._routers.values():
                directive = newest(self._told)
                if directive.version > router.following:
                    router.follow(directive)
                router.end_batches()
                router.join()
                self._told.on_standing(router.standing())
            await self._told.settle()
            self._check()
        owned = Counter(owners(self._told).values())
        assert owned.keys() <= self._routers.keys()
        assert owned.total() == len(self._fleet.reports)
        assert max((owned[router] for router in self._routers), default=0) <= -(-owned.total() // len(self._routers))
        assert set(hands for router in self._routers.values() for hands in router.using) == set(self._fleet.reports)


@given(st.integers(0, 2**32 - 1))
@example(0)
def test_no_worker_is_ever_in_the_hands_of_two_routers(seed: int) -> None:
    in_virtual_time(History(np.random.default_rng(seed)).play)
