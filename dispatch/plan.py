"""What the dispatcher serves and how: the decisions that change every few seconds, not every batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dispatch.balancing.balancer import LoadBalancer
from dispatch.load.monitor import LoadMonitor
from dispatch.load.moving_average import MovingAverage
from dispatch.selection.policy import Candidate, SelectionPolicy


@dataclass(frozen=True)
class EndpointPlan:
    """How one endpoint is served.

    ``candidates`` maps device type, or the pool where one is to differ from its device type, to the variants that may
    answer there. ``max_queued_rows`` bounds what may wait for the endpoint on all workers together; more is refused. A
    ``balancer`` of None keeps what waits in one central queue that idle workers take from. ``load`` learns of every
    query that arrives, and policies see what it anticipates; like the balancer it has state, and belongs to one
    endpoint of one dispatcher. ``pools`` names the
    pools whose workers serve the endpoint, None for all (RAMSIS, appendix G: workers of its own for each objective).
    """

    name: str
    slo_s: float
    drop_late: bool
    max_queued_rows: int
    candidates: Mapping[str, tuple[Candidate, ...]]
    selection: SelectionPolicy
    balancer: LoadBalancer | None
    load: LoadMonitor = field(default_factory=MovingAverage)
    pools: frozenset[str] | None = None

    def offered(self, pool: str, device: str) -> tuple[Candidate, ...]:
        """The variants that may answer on a worker of this pool and device type."""
        if self.pools is not None and pool not in self.pools:
            return ()
        own = self.candidates.get(pool)
        return self.candidates.get(device, ()) if own is None else own


@dataclass(frozen=True)
class Plan:
    """All endpoints. Versions only grow, so that a plan that was overtaken on its way cannot undo a newer one."""

    version: int
    endpoints: Mapping[str, EndpointPlan]
