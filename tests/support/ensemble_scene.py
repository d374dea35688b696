"""An endpoint whose queries are voted on, in a dispatcher without Ray: one stage and one worker per member.

Members are equally sure of every class unless said otherwise, so that a vote is a majority.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import create_balancer
from dispatch.commands import Answer, Command, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.ensemble.chooser import MemberChooser
from dispatch.ensemble.member import Constraint, MemberSet
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.worker_info import WorkerInfo

MEMBERS = ("a", "b", "c")
CLASSES = 3
SLO_S = 0.1
LATENCY_S = 0.010
DUE_S = 0.095
"""When a query that came at 0 is answered by those that voted."""


def one_wave(*members: str, accuracy: float = 0.9) -> MemberSet:
    return MemberSet((members,), accuracy, LATENCY_S, LATENCY_S, LATENCY_S)


def two_waves(first: Sequence[str], second: Sequence[str], stop_margin: float = 1.0) -> MemberSet:
    waves = (tuple(first), tuple(second))
    return MemberSet(waves, 0.9, 2 * LATENCY_S, LATENCY_S, 1.2 * LATENCY_S, stop_margin)


EVERYONE = one_wave(*MEMBERS)


class SaidChooser:
    """Gives the set that it is told to, or raises; keeps what it was asked and told."""

    def __init__(self, members: MemberSet) -> None:
        self.members = members
        self.raises: dict[float | None, Exception] = {}  # by the accuracy that is asked for
        self.asked: list[tuple[Constraint, frozenset[str]]] = []
        self.votes: list[tuple[int, dict[str, int], float]] = []
        self.truths: list[tuple[int, int, dict[str, int]]] = []

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        self.asked.append((constraint, frozenset(served)))
        if constraint.accuracy in self.raises:
            raise self.raises[constraint.accuracy]
        return self.members

    def accuracy(self, members: Sequence[str]) -> float:
        return 0.1 * len(members)

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        self.votes.append((winner, dict(votes), confidence))

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        self.truths.append((truth, winner, dict(votes)))


def flow(
    chooser: MemberChooser | MemberSet, accuracies: Mapping[str, float] | None = None, **options: Any
) -> EnsembleFlow:
    """Of the members that have ``accuracies``, else of all in `MEMBERS`, equally good."""
    known = accuracies or dict.fromkeys(MEMBERS, 0.8)
    made = SaidChooser(chooser) if isinstance(chooser, MemberSet) else chooser
    return EnsembleFlow(made, ClassWeights(known, CLASSES), Ballots(CLASSES), **options)


def plan(
    of: EnsembleFlow,
    version: int = 1,
    *,
    drop_late: bool = False,
    max_queued_rows: int = 1000,
    selection: SelectionPolicy | None = None,
    balancing: str = "central",
    admission: AdmissionRules | None = None,
) -> Plan:
    def stage(name: str) -> StagePlan:
        candidate = Candidate(name, 0.8, (0.0, *(LATENCY_S * (0.8 + 0.2 * n) for n in range(1, 9))))
        return StagePlan({"cpu": (candidate,)}, selection or GreedySelection(), create_balancer(balancing))

    stages = {name: stage(name) for name in of.weights.members}
    limits = EndpointLimits(SLO_S, drop_late, max_queued_rows, admission)
    return Plan(version, {"e": EndpointPlan("e", limits, stages, of)})


def scene(of: EnsembleFlow, workers: Iterable[str] | None = None, **options: Any) -> Dispatcher:
    """A worker for each member that ``workers`` names, all by default; it has the member's name."""
    made = Dispatcher(plan(of, **options))
    for member in of.weights.members if workers is None else workers:
        join(made, member, 0.0)
    return made


def of_three(**options: Any) -> tuple[Dispatcher, EnsembleFlow, SaidChooser]:
    chooser = SaidChooser(EVERYONE)
    made = flow(chooser)
    return scene(made, **options), made, chooser


def two() -> tuple[Dispatcher, EnsembleFlow]:
    """``a`` and ``b`` first; ``c`` where they lead by one or less."""
    made = flow(two_waves("ab", "c"))
    return scene(made), made


def join(d: Dispatcher, member: str, now_s: float) -> list[Command]:
    return d.on_worker_ready(member, WorkerInfo("cpu"), [member], now_s)


def asking(query_id: int = 1, now_s: float = 0.0, rows: int = 1, accuracy: float | None = None) -> Query:
    return Query(query_id, "e", now_s, now_s + SLO_S, rows, {"x": [query_id] * rows}, accuracy)


def ask(d: Dispatcher, query_id: int = 1, now_s: float = 0.0, rows: int = 1) -> list[Command]:
    return d.on_arrival(asking(query_id, now_s, rows), now_s)


def running(d: Dispatcher, worker: str) -> list[int]:
    """Queries in the batch that the worker runs."""
    batch = d.workers[worker].batch
    return [] if batch is None else [job.query.id for job in batch.jobs]


def say(d: Dispatcher, worker: str, now_s: float, *classes: int | Sequence[int]) -> list[Command]:
    """The worker's batch comes back: a class per job, or the classes of its rows."""
    batch = d.workers[worker].batch
    assert batch is not None
    outputs = [{"label": np.atleast_1d(np.array(said))} for said in classes]
    return d.on_done(worker, batch.id, outputs, LATENCY_S, now_s)


def fail(d: Dispatcher, worker: str, now_s: float) -> list[Command]:
    batch = d.workers[worker].batch
    assert batch is not None
    return d.on_failed(worker, batch.id, "broken", now_s)


def answered(commands: Iterable[Command]) -> list[Answer]:
    return [command for command in commands if isinstance(command, Answer)]


def refused(commands: Iterable[Command]) -> dict[int, type[Exception]]:
    return {command.query.id: type(command.error) for command in commands if isinstance(command, Reject)}


def woken(commands: Iterable[Command]) -> list[float]:
    return [command.at_s for command in commands if isinstance(command, WakeAt)]


def nothing_is_left(d: Dispatcher, of: EnsembleFlow) -> bool:
    """No query is open, no job waits, and no job that runs is one that nobody waits for."""
    return not (of.open_queries or d.queues.rows("e") or d.queues.any_withdrawn)
