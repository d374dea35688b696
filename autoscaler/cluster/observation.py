"""What the planner sees, and what the data path reports for it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Statistics:
    """What happened from ``start_s`` to ``end_s``: by endpoint the queries that arrived, and those in violation.

    A query violates its objective when it is answered late or not at all; it counts when that is known.
    """

    start_s: float
    end_s: float
    arrived: Mapping[str, int]
    violated: Mapping[str, int]


@dataclass(frozen=True)
class Observation:
    """What a plan is made from: the load to reckon with by endpoint, the workers, and what each of them holds.

    ``workers`` maps worker id to device type; a worker that is not in ``held`` holds nothing.
    """

    now_s: float
    demand_qps: Mapping[str, float]
    workers: Mapping[str, str]
    held: Mapping[str, frozenset[str]]
