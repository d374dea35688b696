"""The batches that a worker may start."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.tables.table import SLACK_TOLERANCE_S


@dataclass(frozen=True, eq=False)
class Launches:
    """Pairs of variant and batch size, by batch size and within one by latency, the fastest first.

    A batch size has the variants that meet the objective with it; where there is none, the one that is done first.
    ``latency_s`` must fit into the slack, ``duration_s`` is how long the worker is busy on average.
    """

    problem: WorkerProblem
    variant: NDArray[np.intp]
    rows: NDArray[np.intp]
    latency_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]

    @classmethod
    def of(cls, problem: WorkerProblem) -> "Launches":
        """All launches of a problem."""
        latency_s, duration_s = np.array(problem.latency_s), np.array(problem.duration_s)
        pairs = []
        for rows in range(1, problem.max_queue_rows + 1):
            order = np.argsort(latency_s[:, rows - 1], kind="stable")
            in_time = [v for v in order if latency_s[v, rows - 1] <= problem.slo_s]
            pairs += [(v, rows) for v in in_time or [np.argmin(duration_s[:, rows - 1])]]
        variant, rows_of = (np.array(column, dtype=np.intp) for column in zip(*pairs, strict=True))
        return cls(problem, variant, rows_of, latency_s[variant, rows_of - 1], duration_s[variant, rows_of - 1])

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where each batch size begins, from 1 row on: its launch of the least latency."""
        return np.flatnonzero(np.diff(self.rows, prepend=0))

    @cached_property
    def shortest(self) -> NDArray[np.intp]:
        """The launch of each batch size that keeps the worker busy for the least time.

        It is what runs when no variant meets the slack (section 4.3.1).
        """
        ends = np.append(self.starts[1:], len(self.rows))
        spans = zip(self.starts.tolist(), ends.tolist(), strict=True)
        return np.array([start + int(np.argmin(self.duration_s[start:end])) for start, end in spans])

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        """Accuracy of each launch, 0 to 1."""
        return np.array(self.problem.accuracies)[self.variant]

    def meets(self, slack_s: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which launch (axis 0) meets which slack (axis 1)."""
        return self.latency_s[:, None] <= slack_s[None, :] + SLACK_TOLERANCE_S
