"""Finds batches that run far longer than they should."""

from collections.abc import Mapping
from math import inf

from dispatch.queues.worker_state import WorkerState

LOOK_EVERY_S = 0.25

TAILS = 5.0
"""A batch is overdue after so many times what nearly all batches like it take on its worker ..."""

LEAST_S = 1.0
"""... and after this at least: a busy machine holds up a process for some tenths of a second ..."""

LEAST_UNPROVEN_S = 10.0
"""... or after this, where the worker has not run the variant yet ..."""

LEAST_LAST_S = 60.0
"""... or after this, where nobody else could run the batch in its place: there is nothing to gain."""


class BatchWatch:
    """Looks every `LOOK_EVERY_S` at the ``workers``, which are the dispatcher's own by id, while any of them runs.

    Times are counted in looks, so that neither a host that was held up itself nor a clock that jumps makes a batch
    overdue. Of the workers of a stage one that is not overdue stays always: where all are late, it is the machine.
    Nothing is overdue where what batches take is not ``measured``.
    """

    def __init__(self, workers: Mapping[str, WorkerState], *, measured: bool) -> None:
        self._workers = workers
        self._measured = measured
        self.look_s = inf
        """When to look next; infinite while nothing runs."""

    def begin(self, now_s: float) -> float:
        """A batch runs: when to look next, if at all."""
        if self._measured:
            self.look_s = now_s + LOOK_EVERY_S
        return self.look_s

    def on_time(self, now_s: float) -> list[str]:
        """The workers whose batch is overdue, if it is time to look; in the order of their ids."""
        if self.look_s > now_s:
            return []
        running = [worker for worker in self._workers.values() if worker.under_way]
        for worker in running:
            worker.looks += 1
        late = sorted((worker for worker in running if _watched_s(worker) >= _patience_s(worker)), key=_by_id)
        overdue = [worker for worker in late if _watched_s(worker) >= LEAST_LAST_S or _replaceable(worker, late)]
        self.look_s = now_s + LOOK_EVERY_S if len(running) > len(overdue) else inf
        return [worker.id for worker in overdue]


def _watched_s(worker: WorkerState) -> float:
    """How long its batch has run at least."""
    return (worker.looks - 1) * LOOK_EVERY_S


def _patience_s(worker: WorkerState) -> float:
    batch = worker.under_way[0]
    least_s = LEAST_S if batch.variant in worker.proven else LEAST_UNPROVEN_S
    lane = worker.lanes.get(batch.stage)
    candidate = None if lane is None else lane.candidate_of(batch)
    if candidate is not None:
        return max(least_s, TAILS * candidate.time_s(candidate.latency_s, batch.rows))
    return LEAST_LAST_S  # it serves the stage no more, and its plan is not there to compare with


def _replaceable(worker: WorkerState, late: list[WorkerState]) -> bool:
    """Whether somebody else could run its batch."""
    batch = worker.under_way[0]
    lane = worker.lanes.get(batch.stage)
    return lane is None or len(lane.stage.lanes) > sum(batch.stage in other.lanes for other in late)


def _by_id(worker: WorkerState) -> str:
    return worker.id
