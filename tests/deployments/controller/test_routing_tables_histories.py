"""Routers, workers and controllers come, go and lag behind in any order; whose workers are whose stays clear."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from routing_tables_scene import PlayedRouter, PlayedWorkerRegistry, content, newest, owners, routing_tables

from virtual_time import in_virtual_time


class History:
    """Any order of events; after each of them no worker is in two routers' hands, nor in those of one it denies."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._worker_registry = PlayedWorkerRegistry("w0", "w1", "w2", "w3")
        self._epoch = 1
        self._told = routing_tables(self._worker_registry)
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
            router = PlayedRouter(f"r{self._named}", self._worker_registry)
            self._routers[router.name] = router
            self._told.on_router_state(router.router_state())

    async def _router_dies(self) -> None:
        if (router := self._one(self._routers)) is not None:
            self._dead[router] = self._routers.pop(router)
            self._told.on_router_gone(router)

    async def _worker_comes(self) -> None:
        self._named += 1
        self._worker_registry.come(f"w{self._named}")

    async def _worker_goes(self) -> None:
        if (worker := self._one(self._worker_registry.reports)) is not None:
            del self._worker_registry.reports[worker]
            for router in self._routers.values():
                router.using.discard(worker)
                router.busy.discard(worker)

    async def _replaced(self) -> None:
        """Another controller, which first meets those that are there."""
        self._epoch += 1
        self._told = routing_tables(self._worker_registry, self._epoch)
        for router in self._routers.values():
            self._told.on_router_state(router.router_state())

    async def _publish(self) -> None:
        there = [worker for worker in self._worker_registry.reports if self._rng.random() < 0.9]
        await self._told.publish(content(there))

    async def _settle(self) -> None:
        deaf = self._one(self._worker_registry.reports)
        if deaf is not None and self._rng.random() < 0.3:
            self._worker_registry.deaf = {deaf}
        await self._told.settle()
        self._worker_registry.deaf = set()

    async def _follow(self) -> None:
        if (name := self._one(self._routers)) is not None:
            router = self._routers[name]
            routing_table = self._told._current
            if routing_table is not None and routing_table.version > router.following:
                router.follow(routing_table)
            router.join()

    async def _stand(self) -> None:
        if (name := self._one(self._routers)) is not None:
            self._told.on_router_state(self._routers[name].router_state())

    async def _old_word(self) -> None:
        """What a router said before arrives once more: words may overtake one another."""
        if (name := self._one(self._routers | self._dead)) is not None:
            said = (self._routers | self._dead)[name].said
            self._told.on_router_state(said[self._rng.integers(0, len(said))])

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
            assert all(self._worker_registry.owner(worker) == router.name for worker in router.using)
        routing_table = self._told._current
        if routing_table is not None:
            assert routing_table.version >= self._last_version
            self._last_version = routing_table.version

    async def _end(self) -> None:
        """Once everyone does what is asked, every worker is somebody's, and they are shared out evenly."""
        await self._router_comes()
        for router in self._dead:
            self._told.on_router_gone(router)
        await self._told.publish(content(self._worker_registry.reports))
        for _ in range(4):
            for router in self._routers.values():
                routing_table = newest(self._told)
                if routing_table.version > router.following:
                    router.follow(routing_table)
                router.end_batches()
                router.join()
                self._told.on_router_state(router.router_state())
            await self._told.settle()
            self._check()
        owned = Counter(owners(self._told).values())
        assert owned.keys() <= self._routers.keys()
        assert owned.total() == len(self._worker_registry.reports)
        assert max((owned[router] for router in self._routers), default=0) <= -(-owned.total() // len(self._routers))
        assert {hands for router in self._routers.values() for hands in router.using} == set(
            self._worker_registry.reports
        )


@given(st.integers(0, 2**32 - 1))
@example(0)
def test_no_worker_is_ever_in_the_hands_of_two_routers(seed: int) -> None:
    in_virtual_time(History(np.random.default_rng(seed)).play)
