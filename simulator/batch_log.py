"""The batches of a simulation, kept in little space while it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dispatch.commands import BatchDone

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

AT_ONCE = 256
"""Batches that are kept as objects before they become arrays: many at once cost less each, few cost little memory."""


@dataclass(frozen=True, eq=False)
class Batches:
    """Batches in the order in which they were done, one entry each; instants are seconds of virtual time.

    ``variant`` and ``worker`` index the names in ``variants`` and ``workers``; ``accuracy`` is 0 to 1. ``jobs`` counts
    the batch's queries, and ``query_ids`` has their ids, batch by batch.
    """

    variants: Sequence[str]
    workers: Sequence[str]
    variant: Indices
    worker: Indices
    accuracy: Floats
    jobs: Indices
    launched_s: Floats
    done_s: Floats
    query_ids: Indices

    def of_queries(self, count: int) -> Indices:
        """Index of the batch that answered each of ``count`` queries, by query id; -1 where none did."""
        batch = np.full(count, -1, dtype=np.intp)
        batch[self.query_ids] = np.repeat(np.arange(len(self.jobs)), self.jobs)
        return batch


class BatchLog:
    """Takes every `BatchDone` command of a run."""

    def __init__(self) -> None:
        self._done: list[BatchDone] = []
        self._workers: list[str] = []
        self._variants: list[str] = []
        self._numbers: list[NDArray[np.float64]] = [np.empty((4, 0))]
        self._query_ids: list[Indices] = [np.empty(0, dtype=np.intp)]

    def on_batch(self, done: BatchDone) -> None:
        """A batch is done."""
        self._done.append(done)
        if len(self._done) == AT_ONCE:
            self._pack()

    @property
    def variants(self) -> set[str]:
        """Names of those that ran so far."""
        return {*self._variants, *(done.batch.variant for done in self._done)}

    def batches(self, variants: Sequence[str], workers: Sequence[str]) -> Batches:
        """All so far; the names must include all that occurred."""
        self._pack()
        accuracy, jobs, launched_s, done_s = np.concatenate(self._numbers, axis=1)
        variant_of = {name: index for index, name in enumerate(variants)}
        worker_of = {name: index for index, name in enumerate(workers)}
        return Batches(
            variants,
            workers,
            np.array([variant_of[name] for name in self._variants], dtype=np.intp),
            np.array([worker_of[name] for name in self._workers], dtype=np.intp),
            accuracy,
            jobs.astype(np.intp),
            launched_s,
            done_s,
            np.concatenate(self._query_ids),
        )

    def _pack(self) -> None:
        if not self._done:
            return
        batches, _, _, done_s, _, _ = zip(*self._done, strict=True)
        _, workers, _, variants, accuracies, jobs, _, launched_s, _, _ = zip(*batches, strict=True)
        self._workers += workers
        self._variants += variants
        self._numbers.append(np.array([accuracies, [len(each) for each in jobs], launched_s, done_s]))
        self._query_ids.append(np.array([job.query.id for each in jobs for job in each], dtype=np.intp))
        self._done = []
