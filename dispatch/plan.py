"""What the dispatcher serves and how: the decisions that change every few seconds, not every batch."""

from collections.abc import Mapping
from dataclasses import dataclass

from dispatch.balancing.balancer import LoadBalancer
from dispatch.selection.policy import Candidate, SelectionPolicy


@dataclass(frozen=True)
class EndpointPlan:
    """How one endpoint is served.

    ``candidates`` maps device type to the variants that may answer there. ``max_queued_rows`` bounds what may
    wait for the endpoint on all workers together; more is refused.
    """

    name: str
    slo_s: float
    drop_late: bool
    max_queued_rows: int
    candidates: Mapping[str, tuple[Candidate, ...]]
    selection: SelectionPolicy
    balancer: LoadBalancer


@dataclass(frozen=True)
class Plan:
    """All endpoints. Versions only grow, so that a plan that was overtaken on its way cannot undo a newer one."""

    version: int
    endpoints: Mapping[str, EndpointPlan]
