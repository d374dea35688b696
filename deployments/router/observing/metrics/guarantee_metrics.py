"""The guarantees as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``."""

from ray.serve import metrics

from deployments.metrics.growing_counter import GrowingCounter
from deployments.router.observing.endpoint_state import EndpointState
from dispatch.promise.guarantee import GuaranteeMonitor

TAGS = ("endpoint",)

GAUGES = {
    "accord_expected_accuracy_ratio": "Lower bound of the accuracy per query, by the decision tables in force.",
    "accord_observed_accuracy_ratio": "Mean measured accuracy of the variants that answered in time, last 10 s.",
    "accord_expected_violation_ratio": "Upper bound of the share of queries that miss their deadline, by the tables.",
    "accord_promised_violation_ratio": "Share of queries that may miss their deadline: what the endpoint is held to.",
    "accord_observed_violation_ratio": "Share of queries that missed their deadline or got an error, last 10 s.",
    "accord_client_violation_ratio": "The same as clients see it, estimated from the lag of the router's event loop.",
    "accord_predicted_violation_ratio": "Upper bound of the share of queries of the next 10 s that violate (95%).",
    "accord_predicted_accuracy_ratio": "Lower bound of the accuracy per query of the next 10 s (95%).",
    "accord_anticipated_load_qps": "Load that selection reckons with, in queries per second.",
    "accord_slack_factor": "Share of the slack that policies may spend; below 1 while feedback holds them back.",
    "accord_objective_ms": "Latency that the endpoint is held to.",
    "accord_queued_rows": "Rows that wait for a worker.",
    "accord_guarantee_broken": "1 while the promise is broken, else 0.",
}

COUNTERS = {
    "accord_queries": "Queries that ended: answered, or refused with an error.",
    "accord_violations": "Queries that missed their deadline or got an error.",
    "accord_guarantee_events": "Times that a promise was broken.",
}


class GuaranteeMetrics:
    """Gauges and counters with the tag ``endpoint``, beside Serve's own tags; needs a Serve replica around it.

    A gauge that has nothing to tell is not set: Ray ends it two of its reports later, until it is set again.
    """

    def __init__(self) -> None:
        self._gauges = {name: metrics.Gauge(name, text, TAGS) for name, text in GAUGES.items()}
        self._counters = {name: GrowingCounter(name, text, TAGS) for name, text in COUNTERS.items()}

    def export(self, endpoint: str, monitor: GuaranteeMonitor, state: EndpointState) -> None:
        """Set the gauges, and raise the counters by what came since the last time."""
        seen = state.guarantee
        gauges = {
            "accord_expected_accuracy_ratio": seen.expected_accuracy,
            "accord_observed_accuracy_ratio": seen.observed_accuracy,
            "accord_expected_violation_ratio": seen.expected_violation_rate,
            "accord_promised_violation_ratio": seen.promised_violation_rate,
            "accord_observed_violation_ratio": seen.observed_violation_rate,
            "accord_client_violation_ratio": seen.client_violation_rate,
            "accord_predicted_violation_ratio": seen.predicted_violation_rate,
            "accord_predicted_accuracy_ratio": seen.predicted_accuracy,
            "accord_anticipated_load_qps": state.anticipated_qps,
            "accord_slack_factor": state.slack_factor,
            "accord_objective_ms": 1e3 * state.slo_s,
            "accord_queued_rows": float(state.queued_rows),
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
            self._counters[name].follow(total, {"endpoint": endpoint})
