"""What waits for one endpoint, stage by stage."""

from collections.abc import Iterator, Sequence
from math import inf

from catalog.errors import AccordError
from dispatch.admission.control import AdmissionControl
from dispatch.flow.flow import TimedFlow
from dispatch.plan import EndpointPlan
from dispatch.query import ONLY_STAGE, Batch, Job, Query, StageKey
from dispatch.queues.lane import EndpointWaiting, Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState

NO_IDS: frozenset[int] = frozenset()


class EndpointQueues(EndpointWaiting):
    """The endpoint's ``stages`` by name; its ``flow`` stays the one of its first plan.

    ``withdrawn`` has the ids of jobs that run although nobody waits for them. Batches may still run of an endpoint that
    was ``removed``; they lead to no more jobs.
    """

    def __init__(self, plan: EndpointPlan, health: VariantHealth) -> None:
        super().__init__()
        self.plan = plan
        self.flow = plan.flow
        self.timed = isinstance(plan.flow, TimedFlow)
        self.withdrawn: set[int] = set()
        self.admission: AdmissionControl | None = None
        self.removed = False
        self._was_served = False
        self.max_queued_rows = plan.limits.max_queued_rows
        self.stages = {
            name: StageQueues(StageKey(plan.name, name), self, stage, plan.slo_s, health)
            for name, stage in plan.stages.items()
        }

    @property
    def served(self) -> bool:
        """Whether as many stages have a worker as the flow needs."""
        return self.flow.answers_with([name for name, stage in self.stages.items() if stage.lanes])

    def expect_workers(self, until_s: float) -> None:
        """See `AllQueues.expect_workers`."""
        if not self._was_served:
            self.expected_until_s = until_s

    def on_rows(self, jobs: Sequence[Job], now_s: float) -> int:
        """Jobs come: the loads of their stages learn of it; gives the rows of all."""
        for job in jobs:
            self.stages[job.stage].on_rows(job.rows, now_s)
        return sum([job.rows for job in jobs])

    def admit(self, query: Query, now_s: float) -> Sequence[tuple[Job, AccordError]]:
        """Those that make room for a new query, which have left their queues; raises why it is refused.

        The load learns of queries that are refused as well: it is what is asked, not what is served.
        """
        assert self.admission is not None
        verdict = self.admission.on_arrival(query, self.rows, now_s)
        if verdict is None:
            return ()
        if verdict.refusal is not None:
            self.on_refused(query.rows, now_s)
            raise verdict.refusal
        return self._taken_out(verdict.displaced)

    def make_room(self, query: Query, rows: int) -> Sequence[tuple[Job, AccordError]]:
        """Those that make room for a new query's jobs, of so many ``rows``, which are more than the queue may hold.

        They have left their queues; none where there are not enough.
        """
        room = None if self.admission is None else self.admission.make_room(query, rows, self.rows)
        return self._taken_out(room or ())

    def _taken_out(self, displaced: Sequence[tuple[Job, AccordError]]) -> Sequence[tuple[Job, AccordError]]:
        for job, _ in displaced:
            self.lane_of[job.id].cancel(job)
        return displaced

    def turn_away(self, query: Query, now_s: float) -> AccordError:
        """Refuse a query that admission control is sure to refuse, which nobody decodes."""
        assert self.admission is not None
        self.on_refused(query.rows, now_s)
        return self.admission.refusal(query, now_s)

    def on_refused(self, rows: int, now_s: float) -> None:
        """Rows came and were refused, here or in front; of several stages nobody knows which they would have needed."""
        if ONLY_STAGE in self.stages:
            self.stages[ONLY_STAGE].on_rows(rows, now_s)

    def on_refused_in_front(self, rows: int, now_s: float) -> None:
        """The proxy refused rows for want of capacity, before this router ever had a queue."""
        self.on_refused(rows, now_s)
        if self.admission is not None:
            self.admission.refusing(rows, now_s)

    def on_done(self, batch: Batch, now_s: float) -> frozenset[int]:
        """A batch came back: the ids of its jobs that nobody waits for."""
        if self.admission is not None:
            self.admission.on_done(batch, now_s)
        return self.take_withdrawn(batch) if self.withdrawn else NO_IDS

    def take_withdrawn(self, batch: Batch) -> frozenset[int]:
        """The ids of a batch's jobs that nobody waits for; they are forgotten with that."""
        ids = frozenset(job.id for job in batch.jobs if job.id in self.withdrawn)
        self.withdrawn -= ids
        return ids

    def distinct_lanes(self) -> Iterator[Lane]:
        """The lanes whose queues are distinct and together hold all that waits."""
        for stage in self.stages.values():
            yield from stage.distinct_lanes()

    def refresh(self, plan: EndpointPlan, workers: list[WorkerState]) -> None:
        """Derive the lanes anew for these workers, which are in the order of their ids."""
        self.plan = plan
        self.max_queued_rows = plan.limits.max_queued_rows
        if isinstance(self.flow, TimedFlow):
            self.flow.on_limits(drop_late=plan.limits.drop_late)
        for name, stage in self.stages.items():
            stage.refresh(plan.stages[name], plan, workers)
        self.keeps_late = plan.limits.admission is None and not plan.limits.drop_late
        if self.served:
            self._was_served = True
            self.expected_until_s = -inf
        if plan.limits.admission is None:
            self.admission = None
        elif self.admission is None:
            self.admission = AdmissionControl(plan, self.stages, self.flow)
        else:
            self.admission.refresh(plan)
