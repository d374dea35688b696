"""What a router measures for the controller."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from deployments.messages.control import Counts, RouterReport, RouterState, RoutingTable
from deployments.router.observing.slowdown_stats import SlowdownStats
from dispatch.commands import BatchDone
from dispatch.query import StageKey

K = TypeVar("K", bound=Hashable)


class RouterMeter:
    """Counts what happens until `report`, and compares batches with what the routing table says of them.

    A query of several rows counts as so many. ``slowdowns`` are for people.
    """

    def __init__(self) -> None:
        self.slowdowns = SlowdownStats()
        self._routing_table: RoutingTable | None = None
        self._arrived: Counter[str] = Counter()
        self._violated: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._expired: Counter[str] = Counter()
        self._runs: dict[tuple[str, str, str], list[int]] = {}
        self._transport: dict[str, list[int]] = {}
        self._worker_runs: dict[tuple[str, str], list[int]] = {}
        self._stage_rows: Counter[StageKey] = Counter()

    def follow(self, routing_table: RoutingTable) -> None:
        """Batches are compared with this from now on.

        What was counted of workers' runs under another plan is not reported: it would be taken for the new one's.
        """
        if self._routing_table is not None and routing_table.plan_version != self._routing_table.plan_version:
            self._worker_runs.clear()
        self.slowdowns.follow(routing_table)
        self._routing_table = routing_table

    def pool_of(self, worker: str) -> str | None:
        """By the routing table; None of a worker that it does not know."""
        routing = None if self._routing_table is None else self._routing_table.workers.get(worker)
        return None if routing is None else routing.info.pool

    def on_arrival(self, endpoint: str, rows: int) -> None:
        """So many came."""
        self._arrived[endpoint] += rows

    def on_sent_on(self, endpoint: str, rows: int) -> None:
        """A query that came is a peer's now, who counts it."""
        self._arrived[endpoint] = max(self._arrived[endpoint] - rows, 0)

    def on_refused(self, endpoint: str, rows: int) -> None:
        """So many of those that came were refused at once."""
        self._refused[endpoint] += rows

    def on_expired(self, endpoint: str, rows: int) -> None:
        """So many of those that were let in got no answer, since their time was up."""
        self._expired[endpoint] += rows

    def on_violations(self, endpoint: str, rows: int) -> None:
        """So many were answered after their deadline, or not at all."""
        if rows:
            self._violated[endpoint] += rows

    def on_batch(self, done: BatchDone) -> None:
        """A batch came back."""
        batch = done.batch
        if batch.stage.stage:
            self._stage_rows[batch.stage] += batch.rows
        routing = self._routing_table.workers.get(batch.worker) if self._routing_table is not None else None
        if self._routing_table is None or routing is None:
            return
        pool = routing.info.pool
        key = (pool, batch.variant)
        profiled_s = self._routing_table.profiled_s.get(key, ())
        if batch.rows < len(profiled_s):
            slowdown = routing.slowdowns.get(batch.variant)
            if slowdown is None:
                counts = self._runs.setdefault((*key, batch.worker), [0] * BIN_COUNT)
                counts[bin_of(done.run_s / profiled_s[batch.rows])] += 1
            else:
                ratio = done.run_s / profiled_s[batch.rows]
                self.slowdowns.on_batch(batch.worker, batch.variant, ratio, done.done_s)
                counts = self._worker_runs.setdefault((batch.worker, batch.variant), [0] * BIN_COUNT)
                counts[bin_of(ratio / slowdown)] += 1
        reckoned_s = self._routing_table.transport_s.get(pool, 0.0)
        if reckoned_s > 0:
            counts = self._transport.setdefault(pool, [0] * BIN_COUNT)
            way_s = done.done_s - done.launched_s - done.run_s
            counts[bin_of(max(way_s, 0.0) / reckoned_s)] += 1

    def report(self, window: int, router_state: RouterState) -> RouterReport:
        """All that was counted, which begins anew."""
        made = RouterReport(
            router_state,
            window,
            dict(self._arrived),
            dict(self._violated),
            _frozen(self._runs),
            _frozen(self._transport),
            dict(self._stage_rows),
            _frozen(self._worker_runs),
            0 if self._routing_table is None else self._routing_table.plan_version,
            refused=dict(self._refused),
            expired=dict(self._expired),
        )
        self._arrived.clear()
        self._violated.clear()
        self._refused.clear()
        self._expired.clear()
        self._runs.clear()
        self._transport.clear()
        self._stage_rows.clear()
        self._worker_runs.clear()
        return made


def _frozen(counted: Mapping[K, list[int]]) -> dict[K, Counts]:
    return {key: tuple(counts) for key, counts in counted.items()}
