"""What waits for one endpoint, stage by stage."""

from collections.abc import Iterator

from dispatch.flow.flow import TimedFlow
from dispatch.plan import EndpointPlan
from dispatch.query import Batch, StageKey
from dispatch.queues.lane import EndpointWaiting, Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.queues.worker_state import WorkerState


class EndpointQueues(EndpointWaiting):
    """The endpoint's ``stages`` by name; its ``flow`` stays the one of its first plan.

    ``timed`` where that is called when its time comes. ``withdrawn`` has the ids of jobs that run although nobody waits
    for them. Batches may still run of an endpoint that was ``removed``; they lead to no more jobs.
    """

    def __init__(self, plan: EndpointPlan) -> None:
        super().__init__()
        self.plan = plan
        self.flow = plan.flow
        self.timed = isinstance(plan.flow, TimedFlow)
        self.withdrawn: set[int] = set()
        self.removed = False
        self.max_queued_rows = plan.limits.max_queued_rows
        self.stages = {
            name: StageQueues(StageKey(plan.name, name), self, stage, plan.slo_s) for name, stage in plan.stages.items()
        }

    @property
    def served(self) -> bool:
        """Whether every stage has a worker, or as many as the flow can do with."""
        if isinstance(self.flow, TimedFlow):
            return self.flow.served
        return all(stage.lanes for stage in self.stages.values())

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
