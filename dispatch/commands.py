"""What the dispatcher asks of its host. The host carries commands out in the order given."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from catalog.errors import AccordError
from dispatch.query import Batch, Query
from dispatch.worker_info import WorkerInfo

Outputs = Sequence[Mapping[str, Any]]
"""One mapping from tensor name to array per job."""

NO_VOTES: Mapping[str, Sequence[int]] = MappingProxyType({})


class Launch(NamedTuple):
    """Run ``batch`` with one call to its worker; report by ``on_done`` or ``on_failed``."""

    batch: Batch


class GiveUp(NamedTuple):
    """``batch`` is overdue: its jobs were taken back, and its worker is out until ``on_worker_ready``.

    Expect nothing of the call any more, find out whether the worker makes progress, and let it in again when it does.
    """

    batch: Batch
    after_s: float  # since it was launched
    info: WorkerInfo  # the worker's
    variants: frozenset[str]  # that it held


class WakeAt(NamedTuple):
    """Call ``on_timer`` at ``at_s``; a new one replaces the one before, and is never later than it."""

    at_s: float


class BatchDone(NamedTuple):
    """``batch`` came back, which is to be metered; what it means for queries is in other commands.

    ``outputs`` are what the host gave to ``on_done``: one mapping per job, in the batch's order. Nobody waits any more
    for the ``withdrawn`` jobs, which are named by id. It ``waited_s`` at its worker for the run before it.
    """

    batch: Batch
    outputs: Outputs
    run_s: float
    done_s: float
    withdrawn: frozenset[int] = frozenset()
    waited_s: float = 0.0

    @property
    def launched_s(self) -> float:
        """When the batch was launched; where it was ahead of its turn, later by what it waited for that.

        So that a query waits until then, whether in a queue here or at the worker.
        """
        return self.batch.launched_s + self.waited_s


class StageRun(NamedTuple):
    """How a stage of a pipeline ran for one query. Instants are seconds of the host's monotonic clock."""

    stage: str
    variant: str  # which ran its jobs, several joined by commas
    jobs: int
    began_s: float  # when its jobs were made
    launched_s: float  # the first of its batches (`BatchDone.launched_s`)
    done_s: float  # when the last of its jobs had a result
    run_s: float  # the longest of its batches, measured by the worker


class Answer(NamedTuple):
    """A query was served."""

    query: Query
    variant: str  # which served it; of a pipeline "stage:variant" of each that ran, joined by plus signs
    accuracy: float  # of the variant, 0 to 1
    outputs: Mapping[str, Any]  # the query's own rows only
    batch_rows: int
    launched_s: float  # see `BatchDone.launched_s`
    done_s: float
    run_s: float  # measured by the worker, of the whole batch; of a pipeline the sum over its stages
    votes: Mapping[str, Sequence[int]] = NO_VOTES  # the class of each row by member, where several voted
    stages: Sequence[StageRun] = ()  # of a pipeline, without those that were skipped

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of all that had a part in it."""
        if self.stages:
            return tuple(dict.fromkeys(name for run in self.stages for name in run.variant.split(",")))
        return tuple(self.votes) or (self.variant,)

    @property
    def deadline_met(self) -> bool:
        """Whether the result was there by the query's deadline."""
        return self.done_s <= self.query.deadline_s

    @property
    def queue_s(self) -> float:
        """How long the query waited before its batch was launched."""
        return self.launched_s - self.query.arrival_s

    @property
    def latency_s(self) -> float:
        """From the query's arrival to its result."""
        return self.done_s - self.query.arrival_s


class Answers(NamedTuple):
    """What came back for each job of a batch is the answer to its query."""

    done: BatchDone

    def each(self) -> Iterator[Answer]:
        """One answer per query that is still waited for."""
        batch, outputs, run_s, done_s, withdrawn, _ = self.done
        launched_s = self.done.launched_s
        for job, own in zip(batch.jobs, outputs, strict=True):
            if job.id not in withdrawn:
                yield Answer(job.query, batch.variant, batch.accuracy, own, batch.rows, launched_s, done_s, run_s)


class Reject(NamedTuple):
    """``query`` gets no result; ``error`` says why."""

    query: Query
    error: AccordError


Outcome = Answer | Answers | Reject
"""How queries end."""

Command = Launch | GiveUp | WakeAt | BatchDone | Outcome
