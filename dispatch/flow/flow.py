"""The seam between queries and jobs."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from catalog.errors import AccordError
from dispatch.commands import Answer, BatchDone, Outcome
from dispatch.query import Job, Query


class Step(NamedTuple):
    """What follows from an event: jobs that wait from now on, jobs that nobody waits for any more, queries that end."""

    enqueue: Sequence[Job] = ()
    withdraw: Sequence[Job] = ()
    outcomes: Sequence[Outcome] = ()


class QueryFlow(Protocol):
    """Knows the queries of one endpoint that are open, where queues and batches know only jobs.

    It gives jobs their ids, and may keep state; it belongs to one endpoint of one dispatcher, as long as that serves
    the endpoint. Every query that `start` gets is in exactly one outcome, unless it is withdrawn. ``name`` is for
    people.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]] | Answer:
        """A query came: the job that it begins with, and others that wait from then on as well; or its answer at once.

        Raises the `AccordError` that says why nothing can be done for it; it then knows nothing of the query.
        """
        ...

    def on_done(self, done: BatchDone) -> Step:
        """Results of jobs, all of one stage; those ``withdrawn`` are none."""
        ...

    def on_failed(self, job: Job, error: AccordError, now_s: float) -> Step:
        """A job gets no result: it was tried often enough, its deadline has come, or its endpoint is gone."""
        ...

    def withdraw(self, query: Query) -> Sequence[Job]:
        """Nobody waits for the query any more: its jobs that have no result yet."""
        ...

    def answers_with(self, stages: Collection[str]) -> bool:
        """Whether queries can be answered while these stages have workers, and no others."""
        ...


@runtime_checkable
class TimedFlow(QueryFlow, Protocol):
    """A flow that does something when its time comes, and is told its limits and which of its stages have workers."""

    @property
    def due_s(self) -> float:
        """When `on_due` is to be called, infinite for never."""
        ...

    def on_due(self, now_s: float) -> Step:
        """The time has come."""
        ...

    def waits_for(self, job: Job) -> bool:
        """Whether a job is still to have a result: its query has not ended, not even with another of its jobs."""
        ...

    def on_limits(self, *, drop_late: bool) -> None:
        """From now on queries leave queues at their deadline, or do not."""
        ...

    def on_served(self, stages: frozenset[str], now_s: float) -> Step:
        """These stages have workers from now on, and no others."""
        ...
