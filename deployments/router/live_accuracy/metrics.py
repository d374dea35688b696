"""Live accuracy as metrics of Ray, which exports them to Prometheus with the prefix ``ray_``; falls go to the log."""

import logging
from collections.abc import Callable, Mapping

from ray.serve import metrics

from deployments.metrics.exporting import keep_exporting
from deployments.metrics.growing_counter import GrowingCounter
from deployments.router.live_accuracy.status import shadow_status
from dispatch.shadow.endpoint_shadow import EndpointShadow

logger = logging.getLogger("ray.serve")

TAGS = ("endpoint", "variant")


class ShadowMetrics:
    """Gauges with the tags ``endpoint`` and ``variant``, and a counter of shadow runs by endpoint; needs a Serve
    replica around it. ``shadows`` gives what is compared, by endpoint.

    A variant that is compared no more, since it is gone or is the reference by now, has not drifted any more.
    """

    def __init__(self, shadows: Callable[[], Mapping[str, EndpointShadow]]) -> None:
        self._shadows = shadows
        self._accuracy = metrics.Gauge(
            "accord_live_accuracy_ratio", "Accuracy of a variant, estimated from agreement with the reference.", TAGS
        )
        self._drift = metrics.Gauge(
            "accord_accuracy_drift", "1 while a variant agrees less with the reference than was measured, else 0.", TAGS
        )
        self._runs = GrowingCounter("accord_shadow_runs", "Queries compared with the reference.", ("endpoint",))
        self._told: dict[str, list[str]] = {}
        self._exported: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "Live accuracies")

    def export(self) -> None:
        """Set the gauges, raise the counter by what came since the last time, and log what is new."""
        exported: set[tuple[str, str]] = set()
        for endpoint, shadow in self._shadows().items():
            seen = shadow_status(shadow)
            assert seen is not None
            exported.update((endpoint, variant) for variant in seen["variants"])
            for variant, each in seen["variants"].items():
                tags = {"endpoint": endpoint, "variant": variant}
                if each["accuracy"] is not None:
                    self._accuracy.set(each["accuracy"], tags)
                self._drift.set(float(each["drifted"]), tags)
            self._runs.follow(shadow.compared, {"endpoint": endpoint})
            drifted = [variant for variant, each in seen["variants"].items() if each["drifted"]]
            if drifted != self._told.get(endpoint, []):
                for alert in seen["alerts"] or ["no variant that is compared with the reference has drifted any more"]:
                    logger.warning("Endpoint %s: %s.", endpoint, alert)
                self._told[endpoint] = drifted
        for gone in self._exported - exported:
            self._drift.set(0.0, dict(zip(TAGS, gone, strict=True)))
        self._exported = exported
