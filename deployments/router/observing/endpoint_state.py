"""An endpoint of a router at one instant, for metrics."""

from typing import NamedTuple

from dispatch.promise.guarantee import Guarantee


class EndpointState(NamedTuple):
    """Promise and truth, the load that selection reckons with, the share of the slack that policies may spend, the
    objective, and the rows that wait."""

    guarantee: Guarantee
    anticipated_qps: float
    slack_factor: float
    slo_s: float
    queued_rows: int
