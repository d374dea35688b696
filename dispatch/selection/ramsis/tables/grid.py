"""A ladder of decision tables over load: which one is in force at which load."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.table import DecisionTable


@dataclass(frozen=True, eq=False)
class TableGrid:
    """Tables of one worker under loads from light to more than it can bear; made by `make_grid`.

    ``tables`` ascend by load and are for the same number of workers. ``beyond`` is for loads above them all.
    """

    tables: tuple[DecisionTable, ...]
    beyond: DecisionTable

    @property
    def workers(self) -> int:
        """How many workers share the load that the tables were made for."""
        return self.beyond.workers

    @property
    def variants(self) -> tuple[str, ...]:
        """Every variant that a table may choose."""
        return self.beyond.variants

    @cached_property
    def loads_qps(self) -> tuple[float, ...]:
        """The load of every table, ascending."""
        return tuple(table.load_qps for table in self.tables)

    def meeting(self, load_qps: float) -> DecisionTable | None:
        """The lowest-load table that meets the load, None where none does."""
        index = bisect_left(self.loads_qps, load_qps)
        return self.tables[index] if index < len(self.tables) else None

    def at(self, load_qps: float) -> DecisionTable:
        """The lowest-load table that meets the load (RAMSIS, section 3.2.2), `beyond` where none does."""
        index = bisect_left(self.loads_qps, load_qps)
        return self.tables[index] if index < len(self.tables) else self.beyond

    def for_workers(self, workers: int, load_qps: float) -> DecisionTable:
        """`at` the same load per worker, where that many share the load now."""
        return self.at(load_qps if workers == self.workers else load_qps * self.workers / workers)


def fluid_capacity_qps(problem: WorkerProblem) -> float:
    """The load that all workers bear when every batch is as efficient as a batch in time can be."""
    rates_qps = [
        rows / duration_s
        for latencies_s, durations_s in zip(problem.latency_s, problem.duration_s, strict=True)
        for rows, (latency_s, duration_s) in enumerate(zip(latencies_s, durations_s, strict=True), start=1)
        if latency_s <= problem.slo_s
    ]
    return problem.workers * max(rates_qps, default=1.0 / problem.duration_s[0][0])


def beyond_table(problem: WorkerProblem, group: int) -> DecisionTable:
    """For any load: the whole queue on the variant that is fastest for it. It promises nothing."""
    variant = np.argmin(np.array(problem.duration_s), axis=0).astype(np.uint8)[:, None, None]
    endless = problem.at_load(float("inf")).grouped(group)
    return DecisionTable.of(endless, np.zeros(1), variant, None, expected_accuracy=0.0, late_rate=1.0)
