"""Predicted and measured slowdowns as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``."""

from collections.abc import Callable, Mapping

from ray.serve import metrics

from deployments.metrics.exporting import keep_exporting
from deployments.router.observing.slowdown_stats import Slowdown

TAGS = ("worker", "variant")

GAUGES = {
    "accord_predicted_slowdown_ratio": "How many times longer than alone a variant is predicted to run on a worker.",
    "accord_measured_slowdown_ratio": "How many times longer than profiled it ran there lately, 95th percentile.",
}


class SlowdownMetrics:
    """Gauges with the tags ``worker`` and ``variant``, beside Serve's own tags; needs a Serve replica around it.

    What nobody predicts any more, since the worker is alone or gone, is exported as 1. ``slowdowns`` gives, by worker,
    those of its variants.
    """

    def __init__(self, slowdowns: Callable[[], Mapping[str, Mapping[str, Slowdown]]]) -> None:
        self._slowdowns = slowdowns
        self._gauges = {name: metrics.Gauge(name, text, TAGS) for name, text in GAUGES.items()}
        self._exported: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "Slowdowns")

    def export(self) -> None:
        """Set the gauges."""
        known = {(worker, variant): each for worker, own in self._slowdowns().items() for variant, each in own.items()}
        for key in self._exported - known.keys():
            for name in GAUGES:
                self._set(name, key, 1.0)
        for key, each in known.items():
            self._set("accord_predicted_slowdown_ratio", key, each.predicted)
            if each.measured is not None:
                self._set("accord_measured_slowdown_ratio", key, each.measured)
        self._exported = set(known)

    def _set(self, name: str, key: tuple[str, str], value: float) -> None:
        self._gauges[name].set(value, dict(zip(TAGS, key, strict=True)))
