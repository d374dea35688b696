"""The guarantees as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``."""

from ray.serve import metrics

from dispatch.guarantee import GuaranteeMonitor

TAGS = ("endpoint",)

GAUGES = {
    "accord_expected_accuracy_ratio": "Lower bound of the accuracy per query, by the decision tables in force.",
    "accord_observed_accuracy_ratio": "Mean measured accuracy of the variants that answered in time, last minute.",
    "accord_expected_violation_ratio": "Upper bound of the share of queries that miss their deadline, by the tables.",
    "accord_observed_violation_ratio": "Share of queries that missed their deadline or got an error, last minute.",
    "accord_anticipated_load_qps": "Load that selection reckons with, in queries per second.",
    "accord_guarantee_broken": "1 while violations exceed their bound lastingly, else 0.",
}

COUNTERS = {
    "accord_queries": "Queries that ended: answered, or refused with an error.",
    "accord_violations": "Queries that missed their deadline or got an error.",
    "accord_guarantee_events": "Times that violations began to exceed their bound lastingly.",
}


class GuaranteeMetrics:
    """Gauges and counters with the tag ``endpoint``, beside Serve's own tags; needs a Serve replica around it.

    A gauge that has nothing to tell keeps its last value.
    """

    def __init__(self) -> None:
        self._gauges = {name: metrics.Gauge(name, text, TAGS) for name, text in GAUGES.items()}
        self._counters = {name: metrics.Counter(name, text, TAGS) for name, text in COUNTERS.items()}
        self._exported: dict[tuple[str, str], int] = {}

    def export(self, endpoint: str, monitor: GuaranteeMonitor, anticipated_qps: float) -> None:
        """Set the gauges, and raise the counters by what came since the last time."""
        seen = monitor.guarantee()
        gauges = {
            "accord_expected_accuracy_ratio": seen.expected_accuracy,
            "accord_observed_accuracy_ratio": seen.observed_accuracy,
            "accord_expected_violation_ratio": seen.expected_violation_rate,
            "accord_observed_violation_ratio": seen.observed_violation_rate,
            "accord_anticipated_load_qps": anticipated_qps,
            "accord_guarantee_broken": float(seen.broken),
        }
        counts = {
            "accord_queries": monitor.queries,
            "accord_violations": monitor.violations,
            "accord_guarantee_events": monitor.events,
        }
        for name, value in gauges.items():
            if value is not None:
                self._gauges[name].set(value, {"endpoint": endpoint})
        for name, total in counts.items():
            more = total - self._exported.get((endpoint, name), 0)
            if more:  # Ray refuses to raise a counter by nothing
                self._counters[name].inc(more, {"endpoint": endpoint})
                self._exported[endpoint, name] = total
