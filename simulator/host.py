"""The simulated host of the dispatcher: virtual time instead of a clock, a latency model instead of workers.

Events are in the order of (instant, kind, sequence): at one instant first batches that are done, in the order of
their launch, then the timer, then the control path (a plan that is due, then a report), then queries that arrive, in
the order of their ids.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count, islice, repeat
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dispatch.commands import Answer, Answers, BatchDone, Command, GiveUp, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.flow.single import SINGLE
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.query import NO_INPUTS, NORMAL_PRIORITY, Batch, Query, quick
from dispatch.worker_info import WorkerInfo
from simulator.batch_log import BatchLog
from simulator.control import Control
from simulator.latency import LatencyModel
from simulator.node_interference import Due, NodeInterference
from simulator.record import Record

Floats = NDArray[np.float64]

Outputs = Callable[[Batch], Sequence[Mapping[str, Any]]]
"""What a batch's variant says of each of its jobs."""

NOTHING_SAID: Sequence[Mapping[str, Any]] = ()


class Host:
    """Carries the commands of one dispatcher out, in virtual time that starts at 0.

    ``workers`` maps worker id to device type; every worker is there from the start, and holds every variant that the
    plan has for its device. With an ``estimator`` policies see what batches take, as they do live; without, what the
    plan says. With a ``control`` path, whose first plan is to be ``plan``, a worker holds what that says, and plans
    change while the host runs; every endpoint must be in the first plan. A control path may add workers to the mapping
    that both were given.

    Batches have no ``outputs`` unless some are given, which endpoints need whose members vote, or that have shadow
    runs; ``on_answer`` hears of the answers of votes, which come one by one. With ``nodes``, batches take longer than
    ``latency`` says beside what runs on their node.
    """

    def __init__(
        self,
        plan: Plan,
        workers: Mapping[str, str],
        latency: LatencyModel,
        control: Control | None = None,
        estimator: LatencyEstimator | None = None,
        outputs: Outputs | None = None,
        on_answer: Callable[[Answer], None] | None = None,
        nodes: NodeInterference | None = None,
    ) -> None:
        self._dispatcher = Dispatcher(plan, estimator)
        self.shadows = self._dispatcher.shadows
        self._control = control
        self._devices = workers
        self._outputs = outputs
        self._on_answer = on_answer
        self._answered: list[tuple[int, float, float]] = []  # by query: when, and how accurately
        self._latency = latency
        self._nodes = nodes
        self._due_s: dict[int, float] = {}  # by batch, with nodes: an entry of `_running` at another time is outdated
        self._running: list[tuple[float, int, Batch, float]] = []
        self._idle_s: dict[str, float] = {}  # by worker, when it will have run what was launched
        self._waited_s: dict[int, float] = {}  # by batch, where it does not begin at once
        self._given_up: dict[int, GiveUp] = {}
        self._wake_s = inf
        self._log = BatchLog()
        for worker, device in workers.items():
            if control is None:
                held = frozenset(
                    variant
                    for endpoint in plan.endpoints.values()
                    for stage in endpoint.stages.values()
                    for candidate in stage.candidates.get(device, ())
                    for variant in candidate.needs
                )
            else:
                held = control.held.get(worker, frozenset())
            self._carry_out(self._dispatcher.on_worker_ready(worker, WorkerInfo(device), held, 0.0), 0.0)

    def run(
        self,
        arrivals_s: Mapping[str, Floats],
        accuracy: Sequence[float] | None = None,
        lengths: Sequence[int] | None = None,
        rows: Sequence[int] | None = None,
    ) -> Record:
        """Play the arrivals of every endpoint, ascending, and let the last batch finish. Call it once.

        ``accuracy`` is what each query asks for, in the order of arrival; None where they do not. ``lengths`` and
        ``rows`` are those of the queries likewise; None where inputs have fixed sizes, and where each query has a row.
        Raises ValueError for rows where there is a control path, which counts queries.
        """
        if rows is not None and self._control is not None:
            raise ValueError("rows of queries with a control path, which counts queries; leave one of both out")
        names, endpoint, arrival_s, deadline_s = self._merge(arrivals_s)
        name_of = map(names.__getitem__, endpoint.tolist())
        times = (arrival_s.tolist(), deadline_s.tolist())
        asked = repeat(None) if accuracy is None else accuracy
        length = repeat(0) if lengths is None else lengths
        row = repeat(1) if rows is None else rows
        fields = zip(count(), name_of, *times, row, repeat(NO_INPUTS), asked, repeat(NORMAL_PRIORITY), length)
        queries: Iterator[Query] = map(quick, repeat(Query), fields)
        with _without_garbage_collection():
            if self._control is None:
                self._play(queries)
            else:
                self._control.start(arrivals_s)
                self._play_controlled(queries, arrival_s, self._control)
            while self._next_s() < inf:
                self._next_event()
        return self._record(names, endpoint, arrival_s, deadline_s)

    def slack_share(self, endpoint: str) -> float:
        """The share of the slack that policies of an endpoint may spend now (`dispatch.promise.feedback`)."""
        feedback = self._dispatcher.queues.feedback(endpoint)
        return 1.0 if feedback is None else feedback.share

    def _play(self, queries: Iterator[Query]) -> None:
        """Let the queries arrive, and what is due before each of them happen."""
        running = self._running
        on_arrival = self._dispatcher.on_arrival
        for query in queries:
            now_s = query.arrival_s
            while (running and running[0][0] <= now_s) or self._wake_s <= now_s:
                self._next_event()
            commands = on_arrival(query, now_s)
            if commands:
                self._carry_out(commands, now_s)

    def _play_controlled(self, queries: Iterator[Query], arrival_s: Floats, control: Control) -> None:
        """Let the control path act between queries until nothing is left to come, wait or run."""
        played = 0
        while played < len(arrival_s) or self._next_s() < inf:
            act_s = control.next_s
            due = int(np.searchsorted(arrival_s, act_s))
            self._play(islice(queries, due - played))
            played = due
            while self._next_s() <= act_s:
                self._next_event()
            if played < len(arrival_s) or self._next_s() < inf:
                self._carry_out(control.act(self._dispatcher), act_s)

    def _next_s(self) -> float:
        """When the next batch is done or the timer is due; infinity where neither is to come."""
        return min(self._running[0][0], self._wake_s) if self._running else self._wake_s

    def _next_event(self) -> None:
        """The first batch that is done, or the timer."""
        running = self._running
        if running and running[0][0] <= self._wake_s:
            now_s, _, batch, run_s = heappop(running)
            if self._nodes is not None:
                del self._due_s[batch.id]
                self._reschedule(self._nodes.end(batch, now_s))
            if self._given_up and (given_up := self._given_up.pop(batch.id, None)) is not None:
                self._carry_out(self._back(given_up, now_s), now_s)
                return
            outputs = NOTHING_SAID if self._outputs is None else self._outputs(batch)
            waited_s = self._waited_s.pop(batch.id, 0.0)
            done = self._dispatcher.on_done(batch.worker, batch.id, outputs, run_s, now_s, waited_s)
            self._carry_out(done, now_s)
        else:
            now_s, self._wake_s = self._wake_s, inf
            self._carry_out(self._dispatcher.on_timer(now_s), now_s)

    def _carry_out(self, commands: list[Command], now_s: float) -> None:
        for command in commands:
            if isinstance(command, Launch):
                batch = command.batch
                run_s, path_s = self._latency.times_s(self._devices[batch.worker], batch)
                if self._nodes is None:
                    due = self._alone(batch, run_s, path_s, now_s)
                    heappush(self._running, (due.done_s, batch.id, batch, run_s))
                else:
                    beside = self._nodes.start(batch, run_s, path_s, now_s)
                    self._reschedule([self._alone(batch, run_s, path_s, now_s)] if beside is None else beside)
            elif isinstance(command, BatchDone):
                self._log.on_batch(command)
                if self._control is not None:
                    self._control.traffic.on_batch(command)
            elif isinstance(command, Answers):
                if self._control is not None:
                    self._control.traffic.on_answers(command)
            elif isinstance(command, Answer):
                self._answered.append((command.query.id, command.done_s, command.accuracy))
                if self._on_answer is not None:
                    self._on_answer(command)
                if self._control is not None:
                    self._control.traffic.on_answer(command)
            elif isinstance(command, WakeAt):
                self._wake_s = command.at_s
            elif isinstance(command, GiveUp):
                self._given_up[command.batch.id] = command
            elif isinstance(command, Reject) and self._control is not None:
                self._control.traffic.on_reject(command)

    def _alone(self, batch: Batch, run_s: float, path_s: float, now_s: float) -> Due:
        """A batch is launched: half of its way goes to its worker, which may still run the one before."""
        waited_s = max(self._idle_s.get(batch.worker, 0.0) - (now_s + path_s / 2.0), 0.0)
        if waited_s:
            self._waited_s[batch.id] = waited_s
        done_s = now_s + run_s + path_s + waited_s
        self._idle_s[batch.worker] = done_s - path_s / 2.0
        return Due(done_s, batch, run_s, waited_s)

    def _back(self, given_up: GiveUp, now_s: float) -> list[Command]:
        """A worker that was given up has ended its batch, which nobody waits for: it is there again."""
        worker = given_up.batch.worker
        held = given_up.variants if self._control is None else self._control.held.get(worker)
        return [] if held is None else self._dispatcher.on_worker_ready(worker, given_up.info, held, now_s)

    def _reschedule(self, changed: Sequence[Due]) -> None:
        """Batches will be done at other instants than before; the first entry is never an outdated one."""
        running = self._running
        for done_s, batch, run_s, waited_s in changed:
            self._due_s[batch.id] = done_s
            self._waited_s[batch.id] = waited_s
            heappush(running, (done_s, batch.id, batch, run_s))
        while running and self._due_s.get(running[0][1]) != running[0][0]:
            heappop(running)

    def _merge(self, arrivals_s: Mapping[str, Floats]) -> tuple[list[str], NDArray[np.intp], Floats, Floats]:
        """All queries in the order of their arrival: endpoint names, index of each query's, arrivals, deadlines."""
        names = list(arrivals_s)
        endpoints = self._dispatcher.plan.endpoints
        for name in names:
            if name not in endpoints:
                raise ValueError(f"no endpoint {name!r}; endpoints here: {', '.join(endpoints)}")
            if np.any(np.diff(arrivals_s[name]) < 0):
                raise ValueError(f"arrivals of endpoint {name!r} go back in time; sort them")
        arrival_s = np.concatenate([np.asarray(arrivals_s[name], dtype=np.float64) for name in names])
        endpoint = np.repeat(np.arange(len(names)), [len(arrivals_s[name]) for name in names])
        order = np.argsort(arrival_s, kind="stable")
        arrival_s, endpoint = arrival_s[order], endpoint[order]
        return names, endpoint, arrival_s, arrival_s + np.array([endpoints[name].slo_s for name in names])[endpoint]

    def _record(self, names: list[str], endpoint: NDArray[np.intp], arrival_s: Floats, deadline_s: Floats) -> Record:
        endpoints = self._dispatcher.plan.endpoints.values()
        offered = (own for each in endpoints for stage in each.stages.values() for own in stage.candidates.values())
        variants = sorted({candidate.variant for own in offered for candidate in own} | self._log.variants)
        batches = self._log.batches(variants, sorted(self._devices))
        batch = batches.of_queries(len(arrival_s))
        one_by_one = [name for name in names if self._dispatcher.plan.endpoints[name].flow.name != SINGLE.name]
        if not one_by_one:
            return Record(names, arrival_s, deadline_s, endpoint, batch, batches)
        batch[np.isin(endpoint, [names.index(name) for name in one_by_one])] = -1
        answered_s, accuracy = np.full(len(arrival_s), inf), np.full(len(arrival_s), np.nan)
        ids, instants_s, accuracies = np.array(self._answered).reshape(-1, 3).T
        answered = ids.astype(np.intp)
        answered_s[answered], accuracy[answered] = instants_s, accuracies
        return Record(names, arrival_s, deadline_s, endpoint, batch, batches, answered_s, accuracy)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Reference counts free all that a run makes; looking for cycles would take a fifth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
