"""What batches take on workers that share a node, beside what was predicted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autoscaler.demand.profile_drift import PERCENTILE
from autoscaler.placement.nodes import shared_nodes
from deployments.messages.control import RoutingTable
from dispatch.latency.decayed_histogram import DecayedHistogram

HALF_LIFE_S = 60.0
HALF_LIFE_BATCHES = 100.0
LEAST_RATIO = 2.0**-6


Beside = tuple[tuple[str, ...], ...]
"""What each of the other workers of a worker's node serves."""


@dataclass(frozen=True)
class Slowdown:
    """Of one variant on one worker: ``measured`` is None before the first batch under this prediction.

    It is the 95th percentile of the run over that of the profile, which was measured alone; ``batches`` is how many
    recent ones it rests on.
    """

    predicted: float
    measured: float | None
    batches: float

    def to_record(self) -> dict[str, Any]:
        """In JSON values."""
        return {"predicted": self.predicted, "measured": self.measured, "batches": self.batches}


class SlowdownStats:
    """Measures a worker anew when its neighbours serve something else; corrected predictions alone change nothing."""

    def __init__(self) -> None:
        self._predicted: dict[str, Mapping[str, float]] = {}
        self._beside: dict[str, Beside] = {}
        self._measured: dict[tuple[str, str], DecayedHistogram] = {}

    def follow(self, routing_table: RoutingTable) -> None:
        """These slowdowns are predicted from now on."""
        predicted = {w: routing.slowdowns for w, routing in routing_table.workers.items() if routing.slowdowns}
        beside = _beside(routing_table)
        self._measured = {
            (worker, variant): kept
            for (worker, variant), kept in self._measured.items()
            if variant in predicted.get(worker, {}) and beside.get(worker) == self._beside.get(worker)
        }
        self._predicted, self._beside = predicted, beside

    def on_batch(self, worker: str, variant: str, ratio: float, now_s: float) -> None:
        """A run took so many times what the profile says; the routing table predicts a slowdown of it."""
        key = (worker, variant)
        if key not in self._measured:
            self._measured[key] = DecayedHistogram(HALF_LIFE_S, HALF_LIFE_BATCHES, LEAST_RATIO)
        self._measured[key].add(ratio, now_s)

    def of(self, worker: str) -> dict[str, Slowdown]:
        """By variant that the worker serves beside others; empty where it is alone on its node."""
        return {
            variant: Slowdown(
                predicted,
                None if (own := self._measured.get((worker, variant))) is None else own.quantile(PERCENTILE),
                0.0 if own is None else own.evidence,
            )
            for variant, predicted in self._predicted.get(worker, {}).items()
        }


def _beside(routing_table: RoutingTable) -> dict[str, Beside]:
    """By worker that slowdowns are predicted of."""
    workers = routing_table.workers
    nodes = shared_nodes({worker: routing.info for worker, routing in workers.items() if routing.serves})
    return {
        worker: tuple(sorted(tuple(sorted(workers[other].serves)) for other in node.workers if other != worker))
        for node in nodes
        for worker in node.workers
        if workers[worker].slowdowns
    }
