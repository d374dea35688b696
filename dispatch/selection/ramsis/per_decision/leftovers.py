"""What stays in the queue when a batch takes only its first rows."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from dispatch.selection.ramsis.per_decision.transitions import row_pmf
from dispatch.selection.ramsis.problem import WorkerProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PHASE_CELLS = 12
"""Phases are told apart in so many cells: they matter little for what comes after, and much for memory."""

POSITIONS = 1024
"""Points at which a distribution within the age of the queue is tabulated."""


class Leftovers:
    """States after a batch of b of n rows: who is first then, and who came meanwhile (section 4.3.2).

    The first row left is the (b + 1)-th that came, which was the (b K)-th arrival after the earliest one, of
    (n - 1) K + f in all. Given that number, Poisson arrivals are uniform in the age of the queue, so that it came at a
    beta-distributed share of it. Its slack counts as the step below, both when the batch starts and when it ends.
    """

    def __init__(self, problem: WorkerProblem, slack_s: Floats, weights: Floats, latency_s: Floats) -> None:
        workers, self._max_rows = problem.workers, problem.max_queue_rows
        cells = np.array_split(np.arange(workers), min(workers, PHASE_CELLS))
        self._workers = workers
        self._cell_phase = np.array([cell.mean() for cell in cells])
        starts = [cell[0] for cell in cells]
        self._cell_weight = np.add.reduceat(weights, starts, axis=2)  # [n - 1, j, cell]
        joins = row_pmf(problem.arrivals, latency_s, workers, self._max_rows)
        sizes = np.array([len(cell) for cell in cells])
        self._joins = np.add.reduceat(joins, starts, axis=1) / sizes[None, :, None]  # [launch, cell, rows]
        self._slack_s = slack_s
        self._then = np.maximum(np.searchsorted(slack_s, slack_s[None, :] - latency_s[:, None] + 1e-12, "right") - 1, 0)
        self._first: dict[tuple[int, int], NDArray[np.float32]] = {}

    def follow(self, value: Floats, full: float) -> Floats:
        """Expected value by launch, cell, rows left (from 1) and slack step of the first of them at the launch."""
        lengths, steps = value.shape
        later = np.full((lengths + 1, lengths, steps), full)  # [rows that join, rows left - 1, j]
        for joined in range(lengths):
            later[joined, : lengths - joined] = value[joined:]
        launches, cells, _ = self._joins.shape
        joins = self._joins.copy()
        joins[:, :, -1] += np.maximum(1.0 - joins.sum(axis=2), 0.0)  # more than fit count as the most
        expected = joins.reshape(launches * cells, -1) @ later.reshape(lengths + 1, -1)
        expected = expected.reshape(launches, cells, lengths, steps)
        return np.take_along_axis(expected, self._then[:, None, None, :], axis=3)

    def first_left(self, rows: int, batch: int) -> NDArray[np.float32]:
        """P(cell and slack step of the first row left | n rows and slack step), as [j, cell * step]; kept once made."""
        kept = self._first.get((rows, batch))
        if kept is None:
            kept = self._first[rows, batch] = self._make(rows, batch)
        return kept

    def _make(self, rows: int, batch: int) -> NDArray[np.float32]:
        age_s = self._slack_s[-1] - self._slack_s
        steps = len(age_s)
        later_s = np.maximum(
            self._slack_s[None, :] - self._slack_s[:, None], 0.0
        )  # [j, step]: slack gained on the first
        share = np.divide(later_s, age_s[:, None], out=np.ones_like(later_s), where=age_s[:, None] > 0.0)
        positions = np.linspace(0.0, 1.0, POSITIONS)
        spread = np.empty((steps, len(self._cell_phase), steps), dtype=np.float32)
        for cell, phase in enumerate(self._cell_phase):
            after = batch * self._workers
            reached = betainc(after, (rows - 1) * self._workers + phase + 1 - after, positions)
            cdf = np.interp(share, positions, reached)  # P(slack < step)
            cdf[np.tril_indices(steps)] = 0.0
            above = np.concatenate([cdf[:, 1:], np.ones((steps, 1))], axis=1)
            spread[:, cell] = np.maximum(above - cdf, 0.0) * self._cell_weight[rows - 1, :, cell, None]
        return spread.reshape(steps, -1)
