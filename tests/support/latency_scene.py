"""Workers in virtual time whose latency changes: three variants, a policy that sees what batches take, and figures."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dispatch.balancing.round_robin import RoundRobin
from dispatch.latency.estimator import LatencyEstimator
from dispatch.load.moving_average import MovingAverage
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView, SelectionPolicy
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.table_plan import TableGroup
from simulator.host import Host
from simulator.latency import LatencyModel
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

SLO_S = 0.1
PATH_S = 0.005
ROUNDING_S = 1e-9


def candidate(variant: str, accuracy: float, base_s: float, per_row_s: float, max_batch: int = 16) -> Candidate:
    """A variant whose batch of n rows runs for base + n * per_row, exactly."""
    runs_s = [base_s + per_row_s * rows for rows in range(1, max_batch + 1)]
    latency_s = (0.0, *(PATH_S + run_s for run_s in runs_s))
    return Candidate(variant, accuracy, latency_s, mean_s=latency_s, path_s=PATH_S)


FAST = candidate("fast", 0.80, 0.002, 0.0008)
MIDDLE = candidate("middle", 0.90, 0.004, 0.002)
SLOW = candidate("slow", 0.97, 0.012, 0.005)
OFFERED = (SLOW, MIDDLE, FAST)


class ProfiledRuns:
    """Runs as the candidates have them, and their way."""

    def __init__(self, offered: tuple[Candidate, ...] = OFFERED) -> None:
        self._offered = {c.variant: c for c in offered}

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        known = self._offered[batch.variant]
        return known.runs_s[batch.rows], known.path_s


class Paused:
    """Another model's times, and a pause in so many of the batches that are launched before an instant."""

    def __init__(self, model: LatencyModel, share: float, pause_s: float, until_s: float, seed: int) -> None:
        self._model = model
        self._share = share
        self._pause_s = pause_s
        self._until_s = until_s
        self._rng = np.random.default_rng(seed)

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        run_s, path_s = self._model.times_s(device, batch)
        paused = self._rng.random() < self._share and batch.launched_s < self._until_s
        return run_s + self._pause_s * paused, path_s


class Watched:
    """Another policy's decisions; remembers which share of the slack it was given, and when."""

    def __init__(self, selection: SelectionPolicy) -> None:
        self._selection = selection
        self.shares: list[tuple[float, float]] = []

    @property
    def name(self) -> str:
        return self._selection.name

    def choose(self, view: QueueView) -> Choice | Hold | Drop:
        if not self.shares or self.shares[-1][1] != view.slack_share:
            self.shares.append((view.now_s, view.slack_share))
        return self._selection.choose(view)


@dataclass(frozen=True, eq=False)
class Played:
    """What came of a run, by the instant at which queries arrived, and what was learned.

    ``shares`` are the shares of the slack that could be spent, each with the instant from which on.
    """

    record: Record
    estimator: LatencyEstimator
    shares: list[tuple[float, float]]

    def violation_rate(self, from_s: float, to_s: float) -> float:
        """Of the queries that arrived in that time."""
        record = self.record
        mine = (record.arrival_s >= from_s) & (record.arrival_s < to_s)
        return float((record.done_s > record.deadline_s + ROUNDING_S)[mine].mean())

    def accuracy(self, from_s: float, to_s: float) -> float:
        """Of the answers in time to queries that arrived in that time."""
        record = self.record
        mine = (record.arrival_s >= from_s) & (record.arrival_s < to_s)
        mine &= record.done_s <= record.deadline_s + ROUNDING_S
        return float(record.batches.accuracy[record.batch[mine]].mean())

    def share(self, at_s: float) -> float:
        """The share of the slack that could be spent at that instant."""
        return [share for now_s, share in self.shares if now_s <= at_s][-1]

    def steps_down_s(self) -> list[float]:
        """When the share fell."""
        return [now_s for (_, before), (now_s, share) in pairwise(self.shares) if share < before]


def play(
    selection: SelectionPolicy,
    latency: LatencyModel,
    load_qps: float,
    duration_s: float,
    workers: int = 2,
    seed: int = 1,
    query_rows: int = 1,
) -> Played:
    """Poisson arrivals on so many workers, with an estimator that starts from twice the way there is."""
    estimator = LatencyEstimator(2 * PATH_S)
    watched = Watched(selection)
    load = MovingAverage()
    group_at = TableGroup(selection, load, estimator.typical) if isinstance(selection, RamsisSelection) else None
    endpoint = EndpointPlan.of_stage(
        "digits", StagePlan({"cpu": OFFERED}, watched, RoundRobin(group_at), load), slo_s=SLO_S, max_queued_rows=10**9
    )
    devices = {f"w{number}": "cpu" for number in range(workers)}
    host = Host(Plan(1, {"digits": endpoint}), devices, latency, estimator=estimator)
    arrivals_s = Poisson(RateSchedule.constant(load_qps), seed).times_s(duration_s)
    rows = [query_rows] * len(arrivals_s)
    return Played(host.run({"digits": arrivals_s}, rows=rows), estimator, watched.shares)
