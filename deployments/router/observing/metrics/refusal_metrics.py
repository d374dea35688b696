"""Refusals by reason code and clients that left, as metrics of Ray, which exports them with the prefix ``ray_``."""

from collections.abc import Callable, Mapping

from deployments.metrics.exporting import keep_exporting
from deployments.metrics.growing_counter import GrowingCounter
from deployments.router.observing.stats import EndpointStats


class RefusalMetrics:
    """Counters with the tag ``endpoint``, that of refusals with ``code`` as well; needs a Serve replica around it.

    ``stats`` gives what was counted, by endpoint.
    """

    def __init__(self, stats: Callable[[], Mapping[str, EndpointStats]]) -> None:
        self._stats = stats
        self._refused = GrowingCounter(
            "accord_refusals",
            "Queries that got an error instead of a result, by reason code or name.",
            ("endpoint", "code"),
        )
        self._cancelled = GrowingCounter(
            "accord_cancelled", "Queries whose client left before they were answered.", ("endpoint",)
        )

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "Refusals")

    def export(self) -> None:
        """Raise the counters by what came since the last time."""
        for endpoint, stats in self._stats().items():
            for code, count in stats.codes.items():
                self._refused.follow(count, {"endpoint": endpoint, "code": code})
            self._cancelled.follow(stats.cancelled, {"endpoint": endpoint})
