"""What batches take on workers that share a node, beside what was predicted."""

from dataclasses import dataclass
from typing import Any

from autoscaler.demand.profile_drift import PERCENTILE
from deployments.messages.control import RoutingTable
from dispatch.latency.decayed_histogram import DecayedHistogram

HALF_LIFE_S = 60.0
HALF_LIFE_BATCHES = 100.0
LEAST_RATIO = 2.0**-6


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
    """Measures anew when the routing table predicts something else of a worker: its neighbours have changed."""

    def __init__(self) -> None:
        self._predicted: dict[tuple[str, str], float] = {}
        self._measured: dict[tuple[str, str], DecayedHistogram] = {}

    def follow(self, routing_table: RoutingTable) -> None:
        """These slowdowns are predicted from now on."""
        predicted = {
            (worker, variant): slowdown
            for worker, routing in routing_table.workers.items()
            for variant, slowdown in routing.slowdowns.items()
        }
        self._measured = {
            key: kept for key, kept in self._measured.items() if predicted.get(key) == self._predicted[key]
        }
        self._predicted = predicted

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
            for (of, variant), predicted in self._predicted.items()
            if of == worker
        }
