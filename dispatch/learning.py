"""What a dispatcher learns while it serves: what batches take on each worker, and whether deadlines are met."""

from collections.abc import Iterable, Mapping, Sequence

from catalog.errors import DeadlineMissed
from dispatch.commands import Answer, Outcome, Reject
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.estimator import LatencyEstimator
from dispatch.promise.feedback import SlackFeedback
from dispatch.promise.guarantee import promised_rate
from dispatch.query import Batch, Query
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.queues.lane import Lane
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.policy import Promise


class Learning:
    """Corrects the candidates of workers' lanes by what their batches take, and tells endpoints' feedback of
    deadlines."""

    def __init__(self, latency: LatencyEstimator) -> None:
        self.latency = latency

    def on_lanes(self, workers: Iterable[WorkerState], slowdowns: Mapping[str, Mapping[str, float]]) -> None:
        """Lanes may be new: they begin with what is known of their worker.

        Workers are predicted to have these slowdowns from now on, by worker and variant.
        """
        changed = self.latency.predict(slowdowns)
        for worker in workers:
            for lane in worker.lanes.values():
                if lane.latency is None or worker.id in changed:
                    lane.measured(self.latency.estimate(worker.id))

    def on_done(
        self, worker: WorkerState, lane: Lane, batch: Batch, run_s: float, now_s: float, waited_s: float = 0.0
    ) -> None:
        """A batch of the lane's stage came back."""
        stage = lane.stage
        if not stage.endpoint.timed:  # else its queries end when more than this is done
            queries = [job.query for job in batch.jobs]
            _on_deadlines(stage.endpoint.feedback, stage.slo_s, queries, batch.promise, now_s)
        load_qps = stage.plan.load.load_qps(now_s)
        total_s = now_s - batch.launched_s
        self._on_batch(worker, lane, batch.variant, batch.rows, run_s, total_s, load_qps, now_s, batch.length, waited_s)

    def on_outcomes(self, endpoint: EndpointQueues, outcomes: Iterable[Outcome], now_s: float) -> None:
        """Queries of several jobs ended; those count that were answered, or given up after their deadline."""
        if ended := [query for outcome in outcomes if (query := _counted(outcome, now_s)) is not None]:
            _on_deadlines(endpoint.feedback, endpoint.plan.slo_s, ended, None, now_s)

    def on_shadow(self, worker: WorkerState, batch: Batch, run_s: float, now_s: float) -> None:
        """A batch came back that no client waited for (`dispatch.shadow`), beside whatever load there is."""
        lane = worker.lanes.get(batch.stage)
        if lane is not None:  # else the worker serves the stage no more
            load_qps, total_s = lane.stage.plan.load.load_qps(now_s), now_s - batch.launched_s
            self._on_batch(worker, lane, batch.variant, batch.rows, run_s, total_s, load_qps, now_s, batch.length)

    def on_measured(
        self, worker: WorkerState, variant: str, rows: int, run_s: float, total_s: float, now_s: float
    ) -> None:
        """A batch of no query came back, of inputs of the typical length, run before there was any load."""
        for lane in worker.lanes.values():
            if variant in lane.accuracies:
                self._on_batch(worker, lane, variant, rows, run_s, total_s, 0.0, now_s)
                return

    def _on_batch(
        self,
        worker: WorkerState,
        lane: Lane,
        variant: str,
        rows: int,
        run_s: float,
        total_s: float,
        load_qps: float,
        now_s: float,
        length: int = 0,
        waited_s: float = 0.0,
    ) -> None:
        for candidate in lane.offered:
            if (
                candidate.variant == variant and rows <= candidate.max_batch
            ):  # else the plan has changed since the launch
                lengths = lane.stage.plan.lengths
                ratio = lengths.ratio(lane.device, candidate, length, rows) if lengths is not None and length else 1.0
                estimate = self.latency.on_batch(
                    worker.id, candidate, rows, run_s, total_s, load_qps, now_s, ratio, waited_s
                )
                if estimate is not None:
                    _correct(worker, estimate)
                return


def _correct(worker: WorkerState, estimate: LatencyEstimate) -> None:
    for lane in worker.lanes.values():
        lane.measured(estimate)


def _counted(outcome: Outcome, now_s: float) -> Query | None:
    if isinstance(outcome, Answer):
        return outcome.query
    if isinstance(outcome, Reject) and isinstance(outcome.error, DeadlineMissed):
        return outcome.query if now_s >= outcome.query.deadline_s else None
    return None


def _on_deadlines(
    feedback: SlackFeedback, slo_s: float, answered: Sequence[Query], promise: Promise | None, now_s: float
) -> None:
    late = sum([now_s - query.arrival_s > max(slo_s, query.allowed_s) for query in answered])
    feedback.on_batch(len(answered), late, promised_rate(promise), answered[0].arrival_s, now_s)
