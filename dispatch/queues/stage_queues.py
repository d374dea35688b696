"""What waits for one stage of an endpoint, and where."""

from dispatch.balancing.balancer import WorkerLoad
from dispatch.lengths.observed import ObservedLengths
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.query import Job, StageKey
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.lane import EndpointWaiting, Lane, Stage
from dispatch.queues.length_queue import LengthQueue
from dispatch.queues.variant_health import VariantHealth
from dispatch.queues.worker_state import WorkerState

Runs = frozenset[tuple[str, str]]
"""Runs that raised, as the worker and the variant of each."""

NO_RUNS: Runs = frozenset()


class StageQueues(Stage):
    """The ``workers`` that serve the stage, in the order of their ids, with a lane each, and a common queue.

    In the common queue wait jobs that no worker can take yet, and with central balancing all jobs: then every
    worker's lane leads there.

    A worker of which all variants are avoided (``health``) gets jobs only where that holds for all others as well, and
    one on which a job failed gets it again only where it failed on all others, or they are avoided.
    """

    def __init__(
        self, key: StageKey, endpoint: EndpointWaiting, plan: StagePlan, slo_s: float, health: VariantHealth
    ) -> None:
        super().__init__(key, endpoint, plan, slo_s)
        self._health = health
        self.workers: list[WorkerState] = []
        self._observed = ObservedLengths()
        if plan.lengths is not None:
            self.buckets = plan.lengths.buckets({})
        self.common = Lane(self, self._new_queue(), WorkerLoad(""))
        self._loads: list[WorkerLoad] = []
        self.choice: int | None = None
        """The worker that the next job joins, where `choose` was asked for it."""
        self.on_row = plan.load.on_arrival
        """A row comes: the load learns of it."""

    def on_rows(self, rows: int, now_s: float) -> None:
        """So many rows come."""
        for _ in range(rows):
            self.on_row(now_s)

    def join(self, job: Job, now_s: float) -> WorkerState | None:
        """Queue a job with the worker that the balancer picks, or a better one; None for the common queue."""
        balancer = self.plan.balancer
        if self.buckets is not None:
            job = self._with_length(job)
        if balancer is None or balancer.central or not self.lanes:
            self.common.push(job)
            return None
        index = self.choice
        if index is None:
            index = balancer.pick(self._loads, now_s)
        else:
            self.choice = None
        if job.excluded or self._health.any_avoided:
            index = self._best(index, job.excluded, now_s)
        self.lanes[index].push(job)
        return self.workers[index]

    def _with_length(self, job: Job) -> Job:
        """The job with its length, which is observed; from time to time buckets are made anew for what came."""
        lengths = self.plan.lengths
        assert lengths is not None
        if not job.length:
            job = job._replace(length=lengths.rule.length_of(job.inputs) if job.inputs else 1)
        if self._observed.add(job.length):
            self.buckets = lengths.buckets(self._observed.counts)
            for lane in (self.common, *self.lanes):
                lane.rebucket(self.buckets)
        return job

    def _new_queue(self) -> DeadlineQueue:
        return DeadlineQueue() if self.buckets is None else LengthQueue(self.buckets, self._weight)

    def _weight(self, length: int) -> float:
        return self.lanes[0].weight(length) if self.lanes else 1.0

    def choose(self, now_s: float) -> int:
        """The worker that the balancer picks for the job that joins next; may be changed in ``choice``."""
        balancer = self.plan.balancer
        assert balancer is not None
        self.choice = balancer.pick(self._loads, now_s)
        if self._health.any_avoided:
            self.choice = self._best(self.choice, NO_RUNS, now_s)
        return self.choice

    def healthy_lanes(self, now_s: float) -> list[Lane]:
        """Those of workers with a variant that is not avoided; all where there are none."""
        if not self._health.any_avoided:
            return self.lanes
        return [lane for lane in self.lanes if not self._rank(lane.index, NO_RUNS, now_s)] or self.lanes

    def for_others(self, lane: Lane, job: Job, now_s: float) -> bool:
        """Whether another worker than the lane's should run a job, since runs raised here."""
        return self._best(lane.index, job.excluded, now_s) != lane.index

    def _best(self, index: int, excluded: Runs, now_s: float) -> int:
        """The worker at ``index`` for a job with these ``excluded`` runs, unless others have a lower `_rank`.

        Of those the one with the fewest rows is taken, of equals the next after ``index``.
        """
        own = self._rank(index, excluded, now_s)
        if not own:
            return index
        every = range(len(self.lanes))
        ranks = [self._rank(each, excluded, now_s) for each in every]
        lowest = min(ranks)
        if own == lowest:
            return index
        rows = [lane.load.queued_rows + lane.load.running_rows for lane in self.lanes]
        best = [each for each in every if ranks[each] == lowest]
        return min(best, key=lambda each: (rows[each], (each - index) % len(every)))

    def _rank(self, index: int, excluded: Runs, now_s: float) -> int:
        """How far a worker is from being right for a job with these ``excluded`` runs.

        0 where a variant is not avoided and none failed on the job there; 1 where one did, and another is left that is
        not avoided; 2 where none is left.
        """
        worker = self.workers[index].id
        usable = self._health.not_avoided(worker, self.lanes[index].candidates, now_s)
        failed = [variant for where, variant in excluded if where == worker]
        if usable and not failed:
            return 0
        return 1 if any(c.variant not in failed for c in usable) else 2

    def idle(self, now_s: float) -> list[WorkerState]:
        """The workers that run nothing, the one that is to take from a central queue first to the front.

        Those that may still run what should be over come last. Those of which all variants are avoided are left out
        where there are others.
        """
        idle = sorted([each for each in self.workers if each.batch is None], key=_may_still_run)
        if self._health.any_avoided:
            idle = [w for w in idle if not self._rank(w.lanes[self.key].index, NO_RUNS, now_s)] or idle
        balancer = self.plan.balancer
        if balancer is not None and balancer.central and len(idle) > 1:
            idle.insert(0, idle.pop(balancer.pick([worker.load for worker in idle], now_s)))
        return idle

    def distinct_lanes(self) -> list[Lane]:
        """The lanes whose queues are distinct and together hold all that waits."""
        return [self.common] if self.plan.central or not self.lanes else self.lanes

    def refresh(self, plan: StagePlan, endpoint: EndpointPlan, workers: list[WorkerState]) -> None:
        """Derive the lanes anew; what waits in one that is no more goes to the common queue. ``workers`` by id."""
        if plan.selection.name != self.plan.selection.name:  # a policy does not know another's state
            for known in self.lanes:
                known.forget_decisions()
        for known in self.lanes:
            known.pace = None
        self.plan = plan
        self.on_row = plan.load.on_arrival
        self.slo_s = endpoint.slo_s
        before = self.lanes
        served = [(worker, lane) for worker in workers if (lane := self._lane(worker)) is not None]
        self.choice = None
        self.workers = [worker for worker, _ in served]
        self.lanes = [lane for _, lane in served]
        self._loads = [lane.load for lane in self.lanes]
        self.deadlines_matter = endpoint.limits.drop_late or not self.lanes
        for index, lane in enumerate(self.lanes):
            lane.index = index
        kept = set(self.lanes)
        for lane in before:
            if lane not in kept and lane.queue is not self.common.queue:
                for job in lane.drain():
                    self.common.push(job)

    def _lane(self, worker: WorkerState) -> Lane | None:
        """The worker's lane, with the candidates that it holds now; None where it holds none."""
        offered = self.plan.offered(worker.info)
        held = [c for c in offered if worker.variants.issuperset(c.needs)]
        lane = worker.lanes.get(self.key)
        if not held:
            worker.set_lane(self.key, None)
            return None
        central = self.plan.central
        if lane is None or (lane.queue is self.common.queue) != central:
            queue, load = (self.common.queue, self.common.load) if central else (self._new_queue(), worker.load)
            lane = Lane(self, queue, load, worker.info.device)
        held.sort(key=lambda c: (-c.accuracy, c.latency_s[1]))
        lane.offer(tuple(held))
        worker.set_lane(self.key, lane)
        return lane


def _may_still_run(worker: WorkerState) -> bool:
    return worker.returning is not None
