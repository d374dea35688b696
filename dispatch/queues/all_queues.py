"""What waits for every endpoint, and for whom."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from catalog.errors import AccordError
from dispatch import refusals
from dispatch.plan import Plan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Job, Query
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.lane import Lane
from dispatch.queues.stage_queues import StageQueues
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState


class AllQueues:
    """The queues of the plan's endpoints, ``by_name``, and by batch that is ``running`` the endpoint that it is of.

    That may be one that was removed since, even if another of the same name is served by now. ``health`` is to be told
    what becomes of batches.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, EndpointQueues] = {}
        self.running: dict[int, EndpointQueues] = {}
        self.health = VariantHealth()

    def expect_workers(self, until_s: Mapping[str, float]) -> None:
        """By endpoint, until when its first workers are expected; the dispatcher wakes up for that with its next event.

        What comes waits for them meanwhile and is not refused for want of workers. An endpoint that has had workers is
        left alone: whether others will come nobody knows.
        """
        for name in until_s.keys() & self.by_name.keys():
            self.by_name[name].expect_workers(until_s[name])

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
        return any(endpoint.withdrawn for endpoint in (*self.by_name.values(), *self.running.values()))

    def check(self, plan: Plan) -> None:
        """Raises ValueError where a plan gives an endpoint other stages."""
        for name, queues in self.by_name.items():
            if name in plan.endpoints and plan.endpoints[name].stages.keys() != queues.stages.keys():
                raise ValueError(f"endpoint {name!r} cannot get other stages while it is served; remove it first")

    def refresh(self, plan: Plan, workers: list[WorkerState]) -> None:
        """Derive from the plan and the workers, in the order of their ids, who can serve what."""
        for name, endpoint in plan.endpoints.items():
            if name not in self.by_name:
                self.by_name[name] = EndpointQueues(endpoint, self.health)
            self.by_name[name].refresh(endpoint, workers)

    def without_worker(self) -> Iterator[tuple[StageQueues, Job]]:
        """Take the jobs that wait for no worker in particular, of stages whose balancer picks one."""
        for endpoint in self.by_name.values():
            for stage in endpoint.stages.values():
                if stage.lanes and not stage.plan.central:
                    for job in stage.common.drain():
                        yield stage, job

    def for_others(self, worker: WorkerState, now_s: float) -> Iterator[tuple[StageQueues, Job]]:
        """Take the jobs that wait for a worker of which all variants are avoided, where others should run them."""
        for lane in tuple(worker.lanes.values()) if self.health.any_avoided else ():
            stage = self.by_name[lane.stage.key.endpoint].stages[lane.stage.key.stage]
            first = None if stage.plan.central else lane.queue.first()
            if first is not None and stage.for_others(lane, first, now_s):
                yield from [(stage, job) for job in lane.drain()]

    def take_late(self, lane: Lane, now_s: float) -> list[tuple[Job, EndpointQueues, AccordError]]:
        """Take the lane's jobs whose deadline has come, with why they end: they are dropped, or no worker is there."""
        endpoint, served = self.by_name[lane.stage.key.endpoint], bool(lane.stage.lanes)
        if (served and not endpoint.plan.limits.drop_late) or lane.stage.leaves_s(now_s) > now_s:
            return []
        return [
            (job, endpoint, refusals.deadline_missed(job.query, now_s) if served else refusals.no_worker(endpoint.plan))
            for job in lane.expired(now_s)
        ]

    def remove_all_but(
        self, endpoints: Collection[str], workers: Collection[WorkerState]
    ) -> Iterator[tuple[EndpointQueues, Job]]:
        """Serve these endpoints only; gives the jobs that waited for others."""
        for name in [name for name in self.by_name if name not in endpoints]:
            queues = self.by_name.pop(name)
            queues.removed = True
            for worker in workers:
                for stage in queues.stages.values():
                    worker.set_lane(stage.key, None)
            yield from [(queues, job) for lane in queues.distinct_lanes() for job in lane.drain()]

    def withdraw_query(self, query: Query, workers: Iterable[WorkerState]) -> None:
        """Nobody waits for a query: see `withdraw`; one of an unknown endpoint is ignored."""
        name = query.endpoint
        endpoints = {id(each): each for each in self.running.values() if each.plan.name == name}
        if (served := self.by_name.get(name)) is not None:
            endpoints[id(served)] = served
        for endpoint in endpoints.values():
            for job in endpoint.flow.withdraw(query):
                self.withdraw(job, endpoint, workers)

    def withdraw(self, job: Job, endpoint: EndpointQueues, workers: Iterable[WorkerState]) -> None:
        """Nobody waits for a job of the endpoint: it leaves its queue, or its result is thrown away when it comes."""
        lane = endpoint.lane_of.get(job.id)
        if lane is not None:
            lane.cancel(job)
            return
        for batch in [batch for worker in workers for batch in worker.under_way if not batch.shadow]:
            if batch.stage.endpoint == endpoint.plan.name and any(each.id == job.id for each in batch.jobs):
                running = self.running[batch.id]
                if running.flow is endpoint.flow:  # else a job of another flow that has the same id
                    running.withdrawn.add(job.id)
