"""What waits for every endpoint, and for whom."""

from collections.abc import Iterable

from dispatch.flow.flow import QueryFlow
from dispatch.plan import Plan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Batch, Job, Query
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.worker_state import WorkerState

NO_IDS: frozenset[int] = frozenset()


class AllQueues:
    """The queues of the plan's endpoints, ``by_name``, and the jobs that run although nobody waits for them.

    ``flows`` has those of endpoints that were removed as well: batches of their jobs may still run.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, EndpointQueues] = {}
        self.flows: dict[str, QueryFlow] = {}
        self._withdrawn: set[tuple[str, int]] = set()  # endpoint and id of jobs that run

    # -- for who asks -----------------------------------------------------------------------------------------

    def rows(self, endpoint: str) -> int:
        """Rows that wait for an endpoint on all workers."""
        queues = self.by_name.get(endpoint)
        return 0 if queues is None else queues.rows

    def served(self, endpoint: str) -> bool:
        """Whether the endpoint can answer: see `EndpointQueues.served`."""
        queues = self.by_name.get(endpoint)
        return queues is not None and queues.served

    def unserved(self, endpoint: str) -> list[Query]:
        """The queries that wait for an endpoint of which no worker serves anything."""
        queues = self.by_name.get(endpoint)
        if queues is None or any(stage.lanes for stage in queues.stages.values()):
            return []
        return [job.query for lane in queues.distinct_lanes() for job in lane.queue]

    def feedback(self, endpoint: str) -> SlackFeedback | None:
        """How much of the slack an endpoint's policies may spend; None for one that is not served."""
        queues = self.by_name.get(endpoint)
        return None if queues is None else queues.feedback

    # -- for the dispatcher -----------------------------------------------------------------------------------

    @property
    def any_withdrawn(self) -> bool:
        """Whether nobody waits for some job that runs."""
        return bool(self._withdrawn)

    def check(self, plan: Plan) -> None:
        """Raises ValueError where a plan gives an endpoint other stages."""
        for name, queues in self.by_name.items():
            if name in plan.endpoints and plan.endpoints[name].stages.keys() != queues.stages.keys():
                raise ValueError(f"endpoint {name!r} cannot get other stages while it is served; remove it first")

    def refresh(self, plan: Plan, workers: list[WorkerState]) -> None:
        """Derive from the plan and the workers, in the order of their ids, who can serve what."""
        for name, endpoint in plan.endpoints.items():
            if name not in self.by_name:
                self.by_name[name] = EndpointQueues(endpoint)
                self.flows[name] = endpoint.flow
            self.by_name[name].refresh(endpoint, workers)

    def remove(self, endpoint: str, workers: Iterable[WorkerState]) -> list[Job]:
        """Serve an endpoint no more; gives the jobs that waited."""
        queues = self.by_name.pop(endpoint)
        for worker in workers:
            for stage in queues.stages.values():
                worker.set_lane(stage.key, None)
        return [job for lane in queues.distinct_lanes() for job in lane.drain()]

    def withdraw_query(self, query: Query, workers: Iterable[WorkerState]) -> None:
        """Nobody waits for a query: see `withdraw`; one of an unknown endpoint is ignored."""
        flow = self.flows.get(query.endpoint)
        if flow is not None:
            for job in flow.withdraw(query):
                self.withdraw(job, workers)

    def withdraw(self, job: Job, workers: Iterable[WorkerState]) -> None:
        """Nobody waits for a job: it leaves its queue, or its result is thrown away when it comes."""
        name = job.query.endpoint
        queues = self.by_name.get(name)
        lane = queues.lane_of.get(job.id) if queues is not None else None
        if lane is not None:
            lane.cancel(job)
        elif any(worker.batch is not None and _holds(worker.batch, name, job.id) for worker in workers):
            self._withdrawn.add((name, job.id))

    def withdrawn(self, batch: Batch) -> frozenset[int]:
        """The ids of a batch's jobs that nobody waits for; they are forgotten with that."""
        name = batch.stage.endpoint
        ids = frozenset(job.id for job in batch.jobs if (name, job.id) in self._withdrawn)
        self._withdrawn.difference_update((name, job_id) for job_id in ids)
        return ids


def _holds(batch: Batch, endpoint: str, job_id: int) -> bool:
    return batch.stage.endpoint == endpoint and any(job.id == job_id for job in batch.jobs)
