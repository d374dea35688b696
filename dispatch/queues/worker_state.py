"""What the dispatcher knows of one worker."""

from collections.abc import Sequence
from math import inf

from dispatch.balancing.balancer import WorkerLoad
from dispatch.query import Batch, StageKey
from dispatch.queues.lane import Lane
from dispatch.worker_info import WorkerInfo


class WorkerState:
    """A worker's variants, its lane per stage that it serves, and the one batch that it runs.

    ``hold_s`` is when a policy that keeps the idle worker waiting is to be asked again, infinity where none does.
    ``looks`` is how often its batch was looked at (`BatchWatch`); batches of the variants in ``proven`` came back.
    """

    def __init__(self, worker: str, info: WorkerInfo) -> None:
        self.id = worker
        self.info = info
        self.variants: frozenset[str] = frozenset()
        self.lanes: dict[StageKey, Lane] = {}
        self._lanes: tuple[Lane, ...] = ()
        self.batch: Batch | None = None
        self.hold_s = inf
        self.looks = 0
        self.proven: set[str] = set()
        self.load = WorkerLoad(worker)

    def set_lane(self, stage: StageKey, lane: Lane | None) -> None:
        """From now on this is the lane for the stage; None where the worker does not serve it."""
        self.lanes.pop(stage, None)
        if lane is not None:
            self.lanes[stage] = lane
        self._lanes = tuple(self.lanes.values())
        self.load.slots = max((c.max_batch for own in self._lanes for c in own.offered), default=0)

    def start(self, batch: Batch) -> None:
        """The worker runs this batch now; it must be idle."""
        assert self.batch is None
        self.batch = batch
        self.hold_s = inf
        self.looks = 0
        self.load.running_rows = batch.rows

    def finish(self) -> None:
        """The batch came back, whatever became of it."""
        self.batch = None
        self.load.running_rows = 0

    def waiting_lanes(self) -> Sequence[Lane]:
        """Lanes in which something waits, the one whose first job is due first to the front."""
        lanes = self._lanes
        if len(lanes) == 1:
            return lanes if lanes[0].queue.rows else ()
        return sorted((lane for lane in lanes if lane.queue.rows), key=_urgency)


def _urgency(lane: Lane) -> tuple[float, int]:
    first = lane.queue.first()
    assert first is not None
    return first.deadline_s, first.id
