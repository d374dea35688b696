"""Endpoints that are served by decision tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dispatch.balancing.round_robin import RoundRobin
from dispatch.load.monitor import LoadMonitor
from dispatch.plan import EndpointPlan
from dispatch.selection.ramsis.grid import TableGrid
from dispatch.selection.ramsis.policy import RamsisSelection


@dataclass(frozen=True)
class TableGroup:
    """How many consecutive queries round robin gives to a worker: what the tables in force were made for.

    Where devices differ in it, the least: a larger group fills queues faster than the tables of some reckon with.
    """

    grids: tuple[TableGrid, ...]
    load: LoadMonitor

    def __call__(self, now_s: float, workers: int) -> int:
        """The group that begins now, with so many workers to share the load."""
        load_qps = self.load.load_qps(now_s)
        return min(grid.for_workers(workers, load_qps).group for grid in self.grids)


def with_tables(endpoint: EndpointPlan, grids: Mapping[str, TableGrid]) -> EndpointPlan:
    """The endpoint, from now on served by these tables, by device; what its load monitor knows is kept."""
    balancer = endpoint.balancer
    if isinstance(balancer, RoundRobin):
        balancer = RoundRobin(TableGroup(tuple(grids.values()), endpoint.load))
    return replace(endpoint, selection=RamsisSelection(grids), balancer=balancer)


def served_by_tables(endpoints: Iterable[EndpointPlan]) -> dict[str, Mapping[str, TableGrid]]:
    """The tables in force, by endpoint and device, of those endpoints that have any."""
    return {e.name: e.selection.grids for e in endpoints if isinstance(e.selection, RamsisSelection)}
