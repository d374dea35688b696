"""What the planner sees, and what the data path reports for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dispatch.query import StageKey
from dispatch.worker_info import WorkerInfo


@dataclass(frozen=True)
class Statistics:
    """What happened from ``start_s`` to ``end_s``: by endpoint the queries that arrived, and those in violation.

    A query of several rows counts as so many, as demand does: a worker bears so many rows per second. A query violates
    its objective when it is answered late or not at all; it counts when that is known. ``stage_rows`` are the rows that
    ran, by endpoint and stage, where somebody counts them, and ``refused`` the queries that were refused when they
    arrived for want of capacity, of which nothing ran. Of those that were let in ``expired`` got no answer, since their
    time was up.
    """

    start_s: float
    end_s: float
    arrived: Mapping[str, int]
    violated: Mapping[str, int]
    stage_rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    expired: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """What a plan is made from: the load to reckon with by endpoint, the workers, and what each of them holds.

    ``workers`` are those that are there, by id; one that is not in ``held`` holds nothing. ``stage_shares`` is the
    part of an endpoint's queries that runs each of its stages, where that was measured. ``prices_per_h`` is what a
    worker of a device type costs now, infinity where none is to be had; where nothing is said it is the pool's price.
    """

    now_s: float
    demand_qps: Mapping[str, float]
    workers: Mapping[str, WorkerInfo]
    held: Mapping[str, frozenset[str]]
    stage_shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    prices_per_h: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def devices(self) -> dict[str, str]:
        """The device type of each worker as planners know it: its pool where there are pools."""
        return {worker: info.pool or info.device for worker, info in self.workers.items()}


def by_endpoint(stage_rows: Mapping[StageKey, int]) -> dict[str, dict[str, int]]:
    """Rows by endpoint and stage, as `Statistics` has them."""
    found: dict[str, dict[str, int]] = {}
    for (endpoint, stage), rows in stage_rows.items():
        found.setdefault(endpoint, {})[stage] = rows
    return found
