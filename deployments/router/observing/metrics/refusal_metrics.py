"""Refusals by reason code and clients that left, as metrics of Ray, which exports them with the prefix ``ray_``."""

from collections.abc import Callable, Mapping

from ray.serve import metrics

from deployments.router.exporting import keep_exporting
from deployments.router.observing.stats import EndpointStats


class RefusalMetrics:
    """Counters with the tag ``endpoint``, that of refusals with ``code`` as well; needs a Serve replica around it.

    ``stats`` gives what was counted, by endpoint.
    """

    def __init__(self, stats: Callable[[], Mapping[str, EndpointStats]]) -> None:
        self._stats = stats
        self._refused = metrics.Counter(
            "accord_refusals", "Queries that got an error instead of a result, by reason code.", ("endpoint", "code")
        )
        self._cancelled = metrics.Counter(
            "accord_cancelled", "Queries whose client left before they were answered.", ("endpoint",)
        )
        self._exported: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "Refusals")

    def export(self) -> None:
        """Raise the counters by what came since the last time."""
        for endpoint, stats in self._stats().items():
            for code, count in stats.codes.items():
                if more := self._more((endpoint, code), count):
                    self._refused.inc(more, {"endpoint": endpoint, "code": code})
            if more := self._more((endpoint, ""), stats.cancelled):
                self._cancelled.inc(more, {"endpoint": endpoint})

    def _more(self, key: tuple[str, str], total: int) -> int:
        """Ray refuses to raise a counter by nothing."""
        more = total - self._exported.get(key, 0)
        self._exported[key] = total
        return more
