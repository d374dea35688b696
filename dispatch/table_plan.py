"""Endpoints that are served by decision tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dispatch.balancing.round_robin import RoundRobin
from dispatch.latency.estimate import LatencyEstimate
from dispatch.load.monitor import LoadMonitor
from dispatch.plan import EndpointPlan
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.tables.grid import TableGrid


def not_measured() -> LatencyEstimate | None:
    """Latencies are those of the plan."""
    return None


@dataclass(frozen=True)
class TableGroup:
    """How many consecutive queries round robin gives to a worker: what the tables in force were made for.

    Where devices differ in it, the least: a larger group fills queues faster than the tables of some reckon with.
    ``latency`` gives what is known of the workers' latency.
    """

    selection: RamsisSelection
    load: LoadMonitor
    latency: Callable[[], LatencyEstimate | None] = not_measured

    def __call__(self, now_s: float, workers: int) -> int:
        """The group that begins now, with so many workers to share the load."""
        return self.selection.group(workers, self.load.load_qps(now_s), self.latency())


def with_tables(endpoint: EndpointPlan, grids: Mapping[str, TableGrid]) -> EndpointPlan:
    """The endpoint, served by these tables, by device, made for latencies that are exact."""
    return with_selection(endpoint, RamsisSelection(grids))


def with_selection(
    endpoint: EndpointPlan,
    selection: RamsisSelection,
    latency: Callable[[], LatencyEstimate | None] = not_measured,
) -> EndpointPlan:
    """The endpoint, from now on served by the tables of this policy; what its load monitor knows is kept, and whose
    turn it is."""
    balancer = endpoint.stage.balancer
    if isinstance(balancer, RoundRobin):
        balancer = balancer.regrouped(TableGroup(selection, endpoint.stage.load, latency))
    return endpoint.with_stage(selection=selection, balancer=balancer)
