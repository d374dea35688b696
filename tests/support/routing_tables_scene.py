"""Routers and workers that are told whose is whose, played."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from autoscaler.placement.serving import Service
from deployments.controller.routing_tables import RoutingContent, RoutingTables
from deployments.controller.worker_registry import WorkerRegistry
from deployments.messages.control import RouterState, RoutingTable
from deployments.messages.worker import WorkerReport
from deployments.worker.client import WorkerGone
from dispatch.plan import EndpointLimits
from dispatch.worker_info import WorkerInfo
from virtual_time import wall_clock

ENDPOINTS = {"digits": Service(EndpointLimits(0.1, False, 100), {}, None, {})}
FAST = frozenset({"fast"})


class PlayedWorkerRegistry:
    """Workers that are assigned at once, save those that are ``deaf``."""

    def __init__(self, *workers: str, router: str | None = None) -> None:
        self.reports: dict[str, WorkerReport] = {}
        self.deaf: set[str] = set()
        self.told: list[tuple[str, str]] = []
        for worker in workers:
            self.come(worker, router)

    def come(self, worker: str, router: str | None = None) -> None:
        self.reports[worker] = WorkerReport(WorkerInfo("cpu", "pool"), ("fast",), router=router)

    async def assign(self, worker: str, router: str) -> WorkerReport:
        await asyncio.sleep(0)
        if worker in self.deaf or worker not in self.reports:
            raise WorkerGone("played")
        self.told.append((worker, router))
        self.reports[worker] = replace(self.reports[worker], router=router)
        return self.reports[worker]

    def owner(self, worker: str) -> str | None:
        return self.reports[worker].router


class PlayedRouter:
    """Uses the workers that it was given and that serve it; one that is ``busy`` it lets go of when its batch ends."""

    def __init__(self, name: str, worker_registry: PlayedWorkerRegistry) -> None:
        self.name = name
        self._worker_registry = worker_registry
        self.following = 0
        self.mine: frozenset[str] = frozenset()
        self.using: set[str] = set()
        self.busy: set[str] = set()
        self.said: list[RouterState] = []

    def follow(self, routing_table: RoutingTable) -> None:
        assert routing_table.version > self.following
        self.following = routing_table.version
        self.mine = frozenset(
            worker for worker, routing in routing_table.workers.items() if routing.router == self.name
        )
        self.using &= self.mine | self.busy
        self.join()

    def join(self) -> None:
        """As a router's workers does: the worker itself must say that it is this router's."""
        there = {worker for worker, report in self._worker_registry.reports.items() if report.router == self.name}
        self.using |= self.mine & there

    def end_batches(self) -> None:
        self.busy.clear()
        self.using &= self.mine

    def router_state(self) -> RouterState:
        self.said.append(RouterState(self.name, self.following, frozenset(self.using)))
        return self.said[-1]


def routing_tables(worker_registry: PlayedWorkerRegistry, epoch: int = 1) -> RoutingTables:
    return RoutingTables(cast(WorkerRegistry, worker_registry), epoch, wall_clock)


def content(workers: Iterable[str], plan_version: int = 1) -> RoutingContent:
    return RoutingContent(plan_version, ENDPOINTS, dict.fromkeys(workers, FAST), {}, {"pool": 0.01})


def newest(told: RoutingTables) -> RoutingTable:
    assert told._current is not None
    return told._current


def owners(told: RoutingTables) -> dict[str, str | None]:
    return {worker: each.router for worker, each in newest(told).workers.items()}
