"""Workers that hang in virtual time: others answer in their place, and they are used again when they are back."""

import numpy as np

from dispatch.query import Batch
from dispatch.recovery.batch_watch import LEAST_S, LOOK_EVERY_S
from dispatch.selection.greedy import GreedySelection
from latency_scene import SLO_S, ProfiledRuns, play

HANGS_S, HUNG_FOR_S = 10.0, 20.0


class Hanging:
    """The times of the profiles, but for the first batch that one worker begins after an instant."""

    def __init__(self) -> None:
        self._profiled = ProfiledRuns()
        self.hung: list[Batch] = []

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        run_s, path_s = self._profiled.times_s(device, batch)
        if not self.hung and batch.worker == "w0" and batch.launched_s > HANGS_S:
            self.hung.append(batch)
            return HUNG_FOR_S, path_s
        return run_s, path_s


def test_a_worker_that_hangs_costs_only_the_time_until_it_is_given_up() -> None:
    latency = Hanging()
    played = play(GreedySelection(), latency, 40.0, 60.0, workers=3)
    record = played.record
    (hung,) = latency.hung
    assert np.isfinite(record.done_s).all(), "every query is answered"
    assert float((record.done_s - record.arrival_s).max()) < LEAST_S + 3 * LOOK_EVERY_S + SLO_S
    at_s = hung.launched_s + LEAST_S + 3 * LOOK_EVERY_S
    assert played.violation_rate(at_s + 1.0, hung.launched_s + HUNG_FOR_S) < 0.02
    batches, worker = record.batches, record.batches.workers.index("w0")
    began_s = batches.launched_s[batches.worker == worker]
    away = (began_s > hung.launched_s) & (began_s < hung.launched_s + HUNG_FOR_S)
    assert not away.any(), "nothing runs on it meanwhile"
    assert (began_s > hung.launched_s + HUNG_FOR_S).any(), "it is used again"
