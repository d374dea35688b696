"""A query that runs through a pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from catalog.tensor import Arrays
from dispatch.commands import BatchDone, StageRun
from dispatch.query import Job, Query

NO_OUTPUTS: Mapping[str, Any] = {}


class OpenStage:
    """A stage of a query some of whose jobs have no result yet: the ``left`` of those from ``first_id`` on.

    ``outputs`` are by job, in the order of their ids. ``rows`` are by variant, ``right_rows`` the sum of rows times
    accuracy. The other figures are as `StageRun` has them; ``batch_rows`` is the largest batch.
    """

    __slots__ = (
        "batch_rows",
        "began_s",
        "first_id",
        "launched_s",
        "left",
        "number",
        "outputs",
        "right_rows",
        "rows",
        "run_s",
    )

    def __init__(self, number: int, first_id: int, jobs: int, began_s: float) -> None:
        self.number = number
        self.first_id = first_id
        self.left = jobs
        self.began_s = began_s
        self.outputs: list[Mapping[str, Any]] = [NO_OUTPUTS] * jobs
        self.rows: dict[str, int] = {}
        self.right_rows = 0.0
        self.launched_s = inf
        self.run_s = 0.0
        self.batch_rows = 0

    def on_result(self, job: Job, outputs: Mapping[str, Any], done: BatchDone) -> None:
        """One of its jobs has a result."""
        batch = done.batch
        rows, variant = job.rows, batch.variant
        self.left -= 1
        self.outputs[job.id - self.first_id] = outputs
        self.rows[variant] = self.rows.get(variant, 0) + rows
        self.right_rows += rows * batch.accuracy
        if done.launched_s < self.launched_s:
            self.launched_s = done.launched_s
        if done.run_s > self.run_s:
            self.run_s = done.run_s
        if batch.rows > self.batch_rows:
            self.batch_rows = batch.rows

    @property
    def accuracy(self) -> float:
        """The mean of the variants that ran it, weighted with their rows."""
        return self.right_rows / sum(self.rows.values())

    def joined(self) -> Mapping[str, Any]:
        """What came out of the stage: the outputs of all jobs in their order; raises where they do not fit together."""
        first, *others = self.outputs
        if not others or not first:
            return first
        for other in others:
            if other.keys() != first.keys():
                raise ValueError(f"one job gave {', '.join(first)}, another {', '.join(other)}")
        return {name: np.concatenate([outputs[name] for outputs in self.outputs]) for name in first}

    def ran(self, name: str, done_s: float) -> StageRun:
        """How it ran, for people."""
        jobs = len(self.outputs)
        return StageRun(name, ",".join(self.rows), jobs, self.began_s, self.launched_s, done_s, self.run_s)


@dataclass(slots=True)
class OpenPipeline:
    """What is known of a query that has no answer yet.

    ``missing`` counts by node the sources that are neither done nor skipped; ``left`` such nodes. ``values`` are as
    `Values` has them, ``waiting`` the jobs without a result by id, and ``running`` their stages by name. ``runs`` are
    the stages that ran by number of their nodes, with their product of accuracies and sum of ``run_s``.
    """

    query: Query
    missing: list[int]
    left: int
    give_up_s: float
    values: dict[str, Arrays]
    waiting: dict[int, Job] = field(default_factory=dict)
    running: dict[str, OpenStage] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    runs: dict[int, StageRun] = field(default_factory=dict)
    accuracy: float = 1.0
    launched_s: float = inf
    run_s: float = 0.0
    batch_rows: int = 0

    def on_stage(self, name: str, stage: OpenStage, done_s: float) -> None:
        """All jobs of a stage have results."""
        del self.running[name]
        self.left -= 1
        self.runs[stage.number] = stage.ran(name, done_s)
        self.accuracy *= stage.accuracy
        self.launched_s = min(self.launched_s, stage.launched_s)
        self.run_s += stage.run_s
        self.batch_rows = max(self.batch_rows, stage.batch_rows)

    def follow(self, successors: Sequence[int]) -> list[int]:
        """A stage is done or was skipped: those of its successors that may begin."""
        ready = []
        for number in successors:
            self.missing[number] -= 1
            if not self.missing[number]:
                ready.append(number)
        return ready
