"""Answers by latency and variant, and batches by where they ran, as metrics of Ray with the prefix ``ray_``."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ray.serve import metrics

from deployments.metrics.exporting import keep_exporting
from deployments.metrics.growing_counter import GrowingCounter
from deployments.router.observing.metrics.batch_totals import BatchTotals
from deployments.router.observing.stats import EndpointStats

EXPORT_EVERY_S = 5.0
"""Ray sends on what processes told it every ten seconds, and a counter takes microseconds for each of its series."""

KIND = ("endpoint", "variant", "pool")


class TrafficMetrics:
    """Needs a Serve replica around it.

    ``stats`` are of endpoints, by name; ``pools_of_workers`` gives the pool of each worker that the router has now.
    """

    def __init__(
        self,
        stats: Mapping[str, EndpointStats],
        batches: BatchTotals,
        pools_of_workers: Callable[[], Iterable[str]],
    ) -> None:
        self._stats = stats
        self._batches = batches
        self._pools_of_workers = pools_of_workers
        self._buckets = GrowingCounter(
            "accord_latency_ms_bucket",
            "Answers that took no longer than le, from arrival to result.",
            ("endpoint", "le"),
        )
        self._latency = GrowingCounter("accord_latency_ms_sum", "What all answers took together.", ("endpoint",))
        self._answers = GrowingCounter(
            "accord_answers", "Queries that a variant answered, alone or with others.", ("endpoint", "variant")
        )
        self._count = GrowingCounter("accord_batches", "Batches that came back.", KIND)
        self._rows = GrowingCounter("accord_batch_rows", "Rows of batches that came back.", KIND)
        self._run = GrowingCounter("accord_run_seconds", "How long workers ran batches that came back.", KIND)
        self._workers = metrics.Gauge("accord_workers", "Workers that the router has.", ("pool",))
        self._pools: set[str] = set()

    async def run(self) -> None:
        """Export until cancelled."""
        await keep_exporting(self.export, "Traffic", EXPORT_EVERY_S)

    def export(self) -> None:
        """Raise the counters by what came since the last time, and set the gauges."""
        for endpoint, stats in self._stats.items():
            own = {"endpoint": endpoint}
            for bound, count in stats.latencies.cumulative():
                self._buckets.follow(count, own | {"le": bound})
            self._latency.follow(1e3 * stats.totals.latency_s, own)
            for variant, count in stats.variants.items():
                self._answers.follow(count, own | {"variant": variant})
        for kind, total in self._batches.by_kind.items():
            tags = kind._asdict()
            self._count.follow(total.batches, tags)
            self._rows.follow(total.rows, tags)
            self._run.follow(total.run_s, tags)
        workers = Counter(self._pools_of_workers())
        self._pools |= workers.keys()
        for pool in self._pools:
            self._workers.set(workers[pool], {"pool": pool})
