"""What waits for a stage, and the lanes on which it reaches workers."""

from math import inf
from typing import Any

from dispatch.admission.pace import Pace
from dispatch.balancing.balancer import WorkerLoad
from dispatch.latency.estimate import LatencyEstimate
from dispatch.lengths.buckets import LengthBuckets
from dispatch.plan import StagePlan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Batch, Job, StageKey, quick
from dispatch.queues.deadline_queue import DeadlineQueue
from dispatch.queues.length_queue import LengthQueue
from dispatch.selection.policy import Candidate, Outcome


class EndpointWaiting:
    """All that waits for one endpoint: ``rows`` in sum, and by job id the lane in which it does.

    With ``admission`` not everything is let in that comes. Until ``expected_until_s`` the endpoint's first workers are
    expected; where it is answered late (``keeps_late``), what waits for them stays until then, whatever its deadline.
    ``timed`` where its flow is called when its time comes, and a query may be several jobs.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.lane_of: dict[int, Lane] = {}
        self.feedback = SlackFeedback()
        self.admission: Any = None  # an `AdmissionControl`, which knows lanes itself
        self.expected_until_s = -inf
        self.keeps_late = False
        self.timed = False


class Stage:
    """One stage of an endpoint, with a lane for each worker that serves it.

    ``deadlines_matter`` where jobs leave at them: no worker serves the stage, or its endpoint drops what is late.
    ``buckets`` say which lengths share a batch, None where inputs have fixed sizes.
    """

    def __init__(self, key: StageKey, endpoint: EndpointWaiting, plan: StagePlan, slo_s: float) -> None:
        self.key = key
        self.endpoint = endpoint
        self.plan = plan
        self.slo_s = slo_s
        self.lanes: list[Lane] = []
        self.deadlines_matter = True
        self.buckets: LengthBuckets | None = None

    def leaves_s(self, deadline_s: float) -> float:
        """When a job with this deadline leaves, where ``deadlines_matter``."""
        endpoint = self.endpoint
        if self.lanes or not endpoint.keeps_late:
            return deadline_s
        return max(deadline_s, endpoint.expected_until_s)

    def for_others(self, lane: "Lane", job: Job, now_s: float) -> bool:
        """Whether another worker than the lane's should run a job, since runs raised here."""
        raise NotImplementedError

    def worth_rows(self, rows: int, length: int) -> int:
        """How many rows of the usual length so many rows of this one are worth."""
        if self.plan.lengths is None or not self.lanes or not length:
            return rows
        return max(1, round(rows * self.lanes[0].weight(length)))


class Lane:
    """The queue from which one worker takes the jobs of one stage.

    ``load`` is what the queue's rows count for: the worker's, or nobody's where workers share the queue. ``offered`` is
    what the plan has for the worker, whose type is ``device``, ``candidates`` the same with the ``latency`` that was
    measured on it. Where inputs may be of any length, ``candidates`` are as they are on average over what came, and
    `at` has them by length. ``accuracies`` are by variant; ``index`` is the worker's number among all that serve the
    stage. ``state`` is what the policy wants to see again with its next decision, ``last`` what became of the batch
    ``batch_id``, which its last decision launched: see `QueueView`. ``gives_up_since_s`` is when its policy first gave
    jobs up since it last did anything else, infinity where it did not.
    """

    __slots__ = (
        "_at",
        "_planned_at",
        "accuracies",
        "batch_id",
        "candidates",
        "device",
        "endpoint",
        "gives_up_since_s",
        "index",
        "last",
        "latency",
        "load",
        "offered",
        "pace",
        "queue",
        "stage",
        "state",
    )

    def __init__(self, stage: Stage, queue: DeadlineQueue, load: WorkerLoad, device: str = "") -> None:
        self.stage = stage
        self.device = device
        self.endpoint = stage.endpoint
        self.queue = queue
        self.load = load
        self.index = 0
        self.latency: LatencyEstimate | None = None
        self.offered: tuple[Candidate, ...] = ()
        self.candidates: tuple[Candidate, ...] = ()
        self.accuracies: dict[str, float] = {}
        self.gives_up_since_s = inf
        self.pace: Pace | None = None  # of these candidates, once somebody asked (`dispatch.admission.drain`)
        self._at: dict[int, tuple[Candidate, ...]] = {}  # by the edge of a bucket
        self._planned_at: dict[int, tuple[Candidate, ...]] = {}  # the same as the plan has them
        self.forget_decisions()

    def offer(self, candidates: tuple[Candidate, ...]) -> None:
        """The worker holds these from now on, most accurate first; with others than before, decisions begin anew."""
        if candidates != self.offered:
            self.offered = candidates
            self._planned_at = {}
            self.accuracies = {c.variant: c.accuracy for c in candidates}
            self.forget_decisions()
            self._correct()

    def measured(self, latency: LatencyEstimate) -> None:
        """This is what batches take on the worker from now on."""
        self.latency = latency
        self._correct()

    def is_late(self, job: Job | None, now_s: float) -> bool:
        """Whether a job can hardly be in time any more, on the variant that is fastest for one row."""
        if job is None:
            return False
        least_s = min([each.latency_s[1] for each in self.candidates], default=0.0)
        return job.deadline_s < now_s + self.stage.plan.after_s + least_s

    def only_gives_up(self, now_s: float, for_s: float) -> bool:
        """The policy gives jobs up, by estimates of latency: whether it has done nothing else for so long."""
        if self.latency is None:
            return False
        self.gives_up_since_s = min(self.gives_up_since_s, now_s)
        return now_s - self.gives_up_since_s >= for_s

    def _correct(self) -> None:
        latency = self.latency
        self.candidates = self.offered if latency is None else tuple(map(latency.corrected, self.offered))
        self.pace = None
        self._at = {}

    def at(self, length: int) -> tuple[Candidate, ...]:
        """The candidates for batches that are padded to the longest length that may share one with this one."""
        lengths, buckets = self.stage.plan.lengths, self.stage.buckets
        if lengths is None or buckets is None:
            return self.candidates
        edge = buckets.edge(length)
        found = self._at.get(edge)
        if found is None:
            planned = self._planned_at.get(edge)
            if planned is None:
                planned = tuple([lengths.at(self.device, each, edge) for each in self.offered])
                self._planned_at[edge] = planned
            pure = None if self.latency is None else self.latency.of_one_length
            found = self._at[edge] = planned if pure is None else tuple(map(pure.corrected, planned))
        return found

    def rebucket(self, buckets: LengthBuckets) -> None:
        """These lengths share batches from now on."""
        self._at, self._planned_at = {}, {}
        if isinstance(self.queue, LengthQueue):
            self.queue.rebucket(buckets)

    def weight(self, length: int) -> float:
        """How many rows of the usual length a row of this one is worth."""
        lengths, buckets = self.stage.plan.lengths, self.stage.buckets
        if lengths is None or buckets is None:
            return 1.0
        usual = 1.0 if self.latency is None else self.latency.length_factor
        return lengths.weight(self.device, self.offered, buckets.edge(length)) / usual

    def candidate_of(self, batch: Batch) -> Candidate | None:
        """What the batch should take here; None where its variant is not offered any more."""
        return next((each for each in self.at(batch.length) if each.variant == batch.variant), None)

    def release_s(self, batch: Batch) -> float:
        """When the next batch may follow this one, which is launched now, though it is not back.

        Never where latencies are not measured, a query is suspected of killing workers or has more rows than batches
        are to hold, or the policy wants to know what became of each batch before it decides on the next.
        """
        if self.latency is None or self.state is not None or batch.jobs[0].alone:
            return inf
        candidate = self.candidate_of(batch)
        if candidate is None or not candidate.follow_s or batch.rows > candidate.max_batch:
            return inf
        return batch.launched_s + candidate.follow_s[batch.rows]

    def forget_decisions(self) -> None:
        """The policy sees nothing of its decisions so far."""
        self.batch_id = 0
        self.state: Any = None
        self.last: Outcome | None = None

    def on_done(self, batch: Batch, now_s: float) -> None:
        """A batch came back from the worker; its jobs are in the order of their deadlines."""
        if self.state is not None and batch.id == self.batch_id:
            first = batch.jobs[0]
            overran = now_s - batch.launched_s > first.query.allowed_s
            self.last = quick(Outcome, (now_s > first.deadline_s - self.stage.plan.after_s, overran))

    def push(self, job: Job) -> None:
        """The job waits here from now on."""
        rows = job.rows
        endpoint = self.endpoint
        self.queue.push(job)
        self.load.queued_rows += rows
        endpoint.rows += rows
        endpoint.lane_of[job.id] = self

    def take(self, max_rows: int) -> tuple[Job, ...]:
        """The next batch, as `DeadlineQueue.pop_batch` makes it."""
        queue = self.queue
        before = queue.rows
        jobs = queue.pop_batch(max_rows)
        self._forget(before - queue.rows, jobs)
        return jobs

    def give_up(self, rows: int) -> tuple[Job, ...]:
        """Take the first jobs, so many rows at least, or all."""
        before = self.queue.rows
        jobs = tuple(self.queue.pop_rows(rows))
        self._forget(before - self.queue.rows, jobs)
        return jobs

    def expired(self, now_s: float) -> tuple[Job, ...]:
        """Take the jobs whose deadline has come."""
        first = self.queue.first()
        if first is None or first.deadline_s > now_s:
            return ()
        before = self.queue.rows
        jobs = tuple(self.queue.pop_expired(now_s))
        self._forget(before - self.queue.rows, jobs)
        return jobs

    def drain(self) -> tuple[Job, ...]:
        """Take all jobs."""
        return self.expired(float("inf"))

    def cancel(self, job: Job) -> None:
        """Forget a job that waits here."""
        self.queue.cancel(job)
        self._forget(job.rows, (job,))

    def _forget(self, rows: int, jobs: tuple[Job, ...]) -> None:
        endpoint = self.endpoint
        self.load.queued_rows -= rows
        endpoint.rows -= rows
        lane_of = endpoint.lane_of
        for job in jobs:
            del lane_of[job.id]
