"""Votes under random histories: every query gets exactly one outcome, and nothing is left behind."""

from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.balancing.registry import BALANCERS
from dispatch.batching.nexus import EarlyDrop
from dispatch.commands import Answer, Command, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.chooser import CHOOSERS
from dispatch.ensemble.member import Member
from dispatch.ensemble.selector import MemberSelector
from dispatch.ensemble.voting import vote
from dispatch.ensemble.weights import VoteCounts
from dispatch.flow.ensemble import ANSWER_BEFORE_SHARE, EnsembleFlow
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import SelectionPolicy
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Patient
from ensemble_scene import CLASSES, LATENCY_S, MEMBERS, flow, nothing_is_left, one_wave, plan, two_waves
from vote_scene import confusion, drawn_votes

ACCURACIES = {"a": 0.7, "b": 0.8, "c": 0.85, "d": 0.6}
VOTES = drawn_votes({name: confusion([each] * CLASSES) for name, each in ACCURACIES.items()}, 60)
SELECTOR = MemberSelector(
    [
        Member(name, LATENCY_S * (1 + n), each, packing_factor=4.0 - n)
        for n, (name, each) in enumerate(ACCURACIES.items())
    ],
    VOTES,
)
CHOICES: Sequence[Callable[[], Any]] = (
    lambda: one_wave("a", "b", "c"),
    lambda: one_wave("d"),
    lambda: two_waves("ab", "cd", stop_margin=1.5),
    lambda: two_waves("c", "ab", stop_margin=9.0),
    *(lambda of=of: of(SELECTOR) for of in CHOOSERS.values()),
)

KINDS = (
    *("arrive",) * 5,
    *("done",) * 6,
    *("join", "join", "hold", "lose", "lose all", "fail", "nonsense", "timer", "cancel", "plan", "drop", "weights"),
)
EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 11), st.floats(0.0, 0.04)), max_size=140)
POLICIES = (GreedySelection(), Patient(rows=3), EarlyDrop())


class History:
    """A host that carries commands out as events say, and notes what became of queries.

    A removed endpoint comes again with what ``anew`` makes, where that is given, else with the flow that it had.
    """

    def __init__(self, ensemble: EnsembleFlow, anew: Callable[[], EnsembleFlow] | None = None, **options: Any) -> None:
        self.ensemble = ensemble
        self.flows = [ensemble]
        self._anew = anew
        self._options = options
        self.d = Dispatcher(plan(ensemble, **options))
        self.now_s = 0.0
        self.wake_s = inf
        self.running: dict[str, Batch] = {}
        self.queries: dict[int, Query] = {}
        self.ended: dict[int, list[Command]] = {}
        self.cancelled: set[int] = set()

    def note(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Launch):
                assert command.batch.worker not in self.running, "a worker runs one batch at a time"
                assert command.batch.variant == command.batch.stage.stage
                self.running[command.batch.worker] = command.batch
            elif isinstance(command, WakeAt):
                assert command.at_s < self.wake_s, "a new one is never later than the one before"
                self.wake_s = command.at_s
            elif isinstance(command, Answer | Reject):
                query = command.query
                overdue = self.now_s > query.deadline_s - ANSWER_BEFORE_SHARE * query.allowed_s
                if overdue and isinstance(command, Answer):
                    assert len(command.votes) == 1, "those that had voted answered in time"
                self.ended.setdefault(query.id, []).append(command)

    def ring(self) -> None:
        self.wake_s = inf
        self.note(self.d.on_timer(self.now_s))

    def advance(self, until_s: float) -> None:
        """Time passes, and wake-ups come at their time."""
        while self.wake_s <= until_s:
            self.now_s = max(self.now_s, self.wake_s)
            self.ring()
        self.now_s = until_s

    def on(self, kind: str, which: int, step_s: float) -> None:
        self.advance(self.now_s + step_s)
        d, now_s = self.d, self.now_s
        members = list(self.ensemble.weights.members)
        worker = f"w{which % 6}"
        if kind == "arrive":
            accuracy = (None, 0.5, 0.8, 0.99)[which % 4]
            made = Query(len(self.queries), "e", now_s, now_s + 0.02 * (1 + which), 1 + which % 3, {}, accuracy)
            self.queries[made.id] = made
            self.note(d.on_arrival(made, now_s))
        elif kind == "join":
            self.note(d.on_worker_ready(worker, WorkerInfo("cpu"), [members[which % len(members)]], now_s))
        elif kind == "hold":
            self.note(d.reassign({worker: members[which % 3 :: 2], "w0": members[:1]}, now_s))
        elif kind in ("lose", "lose all"):
            lost = [worker, "unknown"] if kind == "lose" else list(d.workers)
            for each in lost:
                self.running.pop(each, None)
            self.note(d.on_workers_lost(lost, now_s))
        elif kind == "timer":
            self.ring()
        elif kind == "plan":
            if self._anew is not None and "e" not in d.plan.endpoints:
                self.ensemble = self._anew()
                self.flows.append(self.ensemble)
            self.note(d.apply(plan(self.ensemble, d.plan.version + 1, **self._options), now_s))
        elif kind == "drop":
            self.note(d.apply(Plan(d.plan.version + 1, {}), now_s))
        elif kind == "weights":
            some = VOTES.take(np.arange(which, VOTES.rows, 5))
            self.ensemble.weights.put(VoteCounts.of(some.labels, some.predictions, CLASSES))
        elif kind == "cancel" and self.queries:
            victim = self.queries[which % len(self.queries)]
            if victim.id not in self.ended:
                self.cancelled.add(victim.id)
            d.on_cancel(victim)
        elif worker in self.running:
            self.finish(worker, kind, which)

    def finish(self, worker: str, kind: str = "done", which: int = 0) -> None:
        batch = self.running.pop(worker)
        if kind == "fail":
            self.note(self.d.on_failed(worker, batch.id, "broken", self.now_s))
            return
        top = CLASSES + (kind == "nonsense")
        outputs = [{"label": np.array([(which + job.id + row) % top for row in range(job.rows)])} for job in batch.jobs]
        self.note(self.d.on_done(worker, batch.id, outputs, 0.001, self.now_s))

    def settle(self) -> None:
        """Time passes, and what runs comes back."""
        for _ in range(20 * len(self.queries) + 20):
            if not self.running and self.wake_s == inf:
                return
            self.advance(max(self.now_s + 0.01, min(self.wake_s, self.now_s + 1.0)))
            for worker in sorted(self.running):
                if worker in self.running:
                    self.finish(worker)
        raise AssertionError("it does not come to rest")

    def check(self) -> None:
        assert set(self.queries) - self.cancelled == set(self.ended)
        assert all(len(outcomes) == 1 for outcomes in self.ended.values())
        for each in self.flows:
            assert nothing_is_left(self.d, each)
            assert each.due_s == inf
        assert not any(worker.load.queued_rows or worker.load.running_rows for worker in self.d.workers.values())
        for (outcome,) in self.ended.values():
            if isinstance(outcome, Answer):
                assert outcome.votes
                assert outcome.query.id not in self.cancelled
                assert {len(classes) for classes in outcome.votes.values()} == {outcome.query.rows}
                assert len(outcome.outputs["label"]) == outcome.query.rows


@settings(max_examples=300)
@given(
    EVENTS,
    st.integers(0, len(CHOICES) - 1),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(POLICIES),
    st.sampled_from(list(BALANCERS)),
)
def test_every_query_gets_exactly_one_outcome_whatever_happens(
    events: list[tuple[str, int, float]],
    choice: int,
    drop_late: bool,
    best_effort: bool,
    anew: bool,
    selection: SelectionPolicy,
    balancing: str,
) -> None:
    def made() -> EnsembleFlow:
        return flow(CHOICES[choice](), ACCURACIES, best_effort=best_effort)

    history = History(
        made(),
        made if anew else None,
        drop_late=drop_late,
        max_queued_rows=40,
        selection=selection,
        balancing=balancing,
    )
    for number, member in enumerate(ACCURACIES):
        history.note(history.d.on_worker_ready(f"w{number}", WorkerInfo("cpu"), [member], 0.0))
    for kind, which, step_s in events:
        history.on(kind, which, step_s)
    history.settle()
    history.check()


@pytest.mark.parametrize("seed", range(40))
def test_long_histories_come_to_rest_as_well(seed: int) -> None:
    random = Random(seed)
    best_effort = random.random() < 0.5

    def made() -> EnsembleFlow:
        return flow(CHOICES[seed % len(CHOICES)](), ACCURACIES, best_effort=best_effort)

    history = History(made(), made if seed % 2 else None, drop_late=random.random() < 0.5, max_queued_rows=40)
    for number, member in enumerate(ACCURACIES):
        history.note(history.d.on_worker_ready(f"w{number}", WorkerInfo("cpu"), [member], 0.0))
    for _ in range(250):
        history.on(random.choice(KINDS), random.randrange(12), 0.05 * random.random() ** 3)
    history.settle()
    history.check()


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(MEMBERS), st.integers(0, 11)), max_size=60), st.integers(1, 6))
def test_answers_are_the_votes_of_all_members_whoever_comes_first(order: list[tuple[str, int]], queries: int) -> None:
    """Without failures and with time, leaving early changes no answer."""
    accuracies = {"a": 0.6, "b": 0.75, "c": 0.9}
    ensemble = flow(one_wave(*MEMBERS), accuracies)
    history = History(ensemble)
    for member in MEMBERS:
        history.note(history.d.on_worker_ready(member, WorkerInfo("cpu"), [member], 0.0))
    said = {member: [(7 * number + 3 * n) % CLASSES for number in range(queries)] for n, member in enumerate(MEMBERS)}
    for number in range(queries):
        history.queries[number] = Query(number, "e", 0.0, 100.0)
        history.note(history.d.on_arrival(history.queries[number], 0.0))
    for member, _ in [*order, *((member, 0) for _ in range(queries) for member in MEMBERS)]:
        if member in history.running:
            batch = history.running.pop(member)
            outputs = [{"label": np.array([said[member][job.query.id]])} for job in batch.jobs]
            history.note(history.d.on_done(member, batch.id, outputs, 0.001, 0.0))
    every = np.array([[said[member][number] for member in MEMBERS] for number in range(queries)])
    expected = vote(every, ensemble.weights.matrix, ensemble.weights.against).classes.tolist()
    found = {number: outcome for number, (outcome,) in history.ended.items()}
    labels = [outcome.outputs["label"].item() for _, outcome in sorted(found.items()) if isinstance(outcome, Answer)]
    assert labels == expected
    assert nothing_is_left(history.d, ensemble)
