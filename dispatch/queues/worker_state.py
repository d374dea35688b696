"""What the dispatcher knows of one worker."""

from collections.abc import Sequence
from math import inf

from dispatch.balancing.balancer import WorkerLoad
from dispatch.commands import GiveUp
from dispatch.query import Batch, StageKey
from dispatch.queues.lane import Lane
from dispatch.worker_info import WorkerInfo


class WorkerState:
    """A worker's variants, its lane per stage that it serves, the batch that it runs and the one that it has run.

    It runs ``batch`` until that comes back, or should have been run by ``release_s``: from then on its result is on its
    way (``returning``), and the next batch may follow, which reaches the worker about when that is idle. At most two
    are under way, of which the worker runs the later one after the other.

    ``served_late`` where the batch launched last was of a lane that could not be in time any more.

    ``hold_s`` is when a policy that keeps the idle worker waiting is to be asked again, infinity where none does.
    ``looks`` is how often its first batch was looked at (`BatchWatch`); batches of the variants in ``proven`` came
    back.
    """

    def __init__(self, worker: str, info: WorkerInfo) -> None:
        self.id = worker
        self.info = info
        self.variants: frozenset[str] = frozenset()
        self.lanes: dict[StageKey, Lane] = {}
        self._lanes: tuple[Lane, ...] = ()
        self.batch: Batch | None = None
        self.returning: Batch | None = None
        self.release_s = inf
        self.hold_s = inf
        self.served_late = False
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

    @property
    def under_way(self) -> tuple[Batch, ...]:
        """What was launched and is not back, the first to come back to the front."""
        if self.returning is None:
            return () if self.batch is None else (self.batch,)
        return (self.returning,) if self.batch is None else (self.returning, self.batch)

    @property
    def ask_s(self) -> float:
        """When its next batch may follow, or a policy that holds is to be asked again."""
        return self.hold_s if self.returning is not None else min(self.hold_s, self.release_s)

    def start(self, batch: Batch, release_s: float = inf) -> None:
        """The worker runs this batch now; it must be idle."""
        assert self.batch is None
        self.batch = batch
        self.release_s = release_s
        self.hold_s = inf
        if len(self._lanes) > 1 and not batch.shadow and (lane := self.lanes.get(batch.stage)) is not None:
            self.served_late = lane.is_late(batch.jobs[0], batch.launched_s)
        if self.returning is None:
            self.looks = 0
        self.load.running_rows = batch.rows

    def release(self, now_s: float) -> None:
        """Where the batch should have been run by now, the worker counts as idle from here on."""
        if self.release_s <= now_s and self.returning is None:
            self.returning = self.batch
            self._run_none()

    def take(self, batch_id: int) -> Batch | None:
        """The batch came back, whatever became of it; None where none of that id is under way."""
        batch = self.returning
        if batch is not None and batch.id == batch_id:
            self.returning = None
            self.looks = 0
            return batch
        batch = self.batch
        if batch is None or batch.id != batch_id:
            return None
        self._run_none()
        return batch

    def given_up(self, now_s: float) -> GiveUp:
        """The command to expect nothing of its first batch any more."""
        first = self.under_way[0]
        return GiveUp(first, now_s - first.launched_s, self.info, self.variants)

    def _run_none(self) -> None:
        self.batch = None
        self.release_s = inf
        self.load.running_rows = 0

    def waiting_lanes(self, now_s: float) -> Sequence[Lane]:
        """Lanes in which something waits, the one whose first job is due first to the front.

        Lanes that are late already take turns with those that can be in time: an endpoint whose load is too much for
        its workers makes no other one late that shares them.

        None while a result is on its way, where that job was lost with a worker before: were this one to die, nobody
        would know of which of the two.
        """
        lanes: Sequence[Lane] = self._lanes
        if len(lanes) == 1:
            lanes = lanes if lanes[0].queue.rows else ()
        else:
            lanes = sorted((lane for lane in lanes if lane.queue.rows), key=_urgency)
            if len(lanes) > 1:
                lanes = self._in_turn(lanes, now_s)
        if self.returning is not None and lanes and (first := lanes[0].queue.first()) is not None and first.losses:
            return ()
        return lanes

    def _in_turn(self, lanes: list[Lane], now_s: float) -> list[Lane]:
        if not self.served_late:
            return lanes
        late = [lane for lane in lanes if lane.is_late(lane.queue.first(), now_s)]
        return [lane for lane in lanes if lane not in late] + late


def _urgency(lane: Lane) -> tuple[float, int]:
    first = lane.queue.first()
    assert first is not None
    return first.deadline_s, first.id
