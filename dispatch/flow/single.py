"""The flow of an endpoint with one stage, whose queries are one job each."""

from collections.abc import Collection, Sequence

from catalog.errors import AccordError
from dispatch.commands import Answers, BatchDone, Reject
from dispatch.flow.flow import Step
from dispatch.query import FRESH, ONLY_STAGE, Job, Query, quick

NONE: tuple[()] = ()


class SingleFlow:
    """A query is one job of the same id; its result is the answer. Keeps nothing, so that one serves all endpoints."""

    name = "single"

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]]:
        """See `QueryFlow.start`."""
        query_id, _, _, deadline_s, rows, inputs, _, _, length = query
        return quick(Job, (query_id, query, deadline_s, rows, inputs, ONLY_STAGE, *FRESH, length)), NONE

    def on_done(self, done: BatchDone) -> Step:
        """See `QueryFlow.on_done`."""
        return quick(Step, (NONE, NONE, (quick(Answers, (done,)),)))

    def on_failed(self, job: Job, error: AccordError, now_s: float) -> Step:
        """See `QueryFlow.on_failed`."""
        return Step(outcomes=(Reject(job.query, error),))

    def withdraw(self, query: Query) -> Sequence[Job]:
        """See `QueryFlow.withdraw`."""
        return self.start(query, query.arrival_s)[:1]

    def answers_with(self, stages: Collection[str]) -> bool:
        """See `QueryFlow.answers_with`."""
        return bool(stages)


SINGLE = SingleFlow()
