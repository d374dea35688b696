"""Random histories of pipelines: what happens to a dispatcher, and what its queries are to be answered with."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from catalog.adapter import adapter
from catalog.errors import AdapterFailed, NothingToAnswer
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.nexus import EarlyDrop
from dispatch.commands import Answer, Command, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import GIVE_UP_AFTER, PipelineFlow
from dispatch.pipeline.graph import QUERY
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.queues.lane import Lane
from dispatch.selection.greedy import GreedySelection
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Patient
from pipeline_scene import (
    DIGITS,
    GIVES,
    Numbers,
    answer,
    both,
    cut,
    either,
    fan_out,
    flow,
    nothing_is_left,
    odd,
    parts,
    plan,
    refuse_13,
    results,
    sequence,
    stage,
    total,
)


@adapter(inputs={"one": "INT64[-1]", "other": "INT64[-1]", "third": "INT64[-1]"}, outputs=GIVES)
def summed(one: Numbers, other: Numbers | None = None, third: Numbers | None = None) -> dict[str, Numbers]:
    """A number of all that there is."""
    return {"x": np.array([sum(int(each.sum()) for each in (one, other, third) if each is not None)])}


def everything() -> PipelineFlow:
    """Parts, a branch, an adapter that raises for some queries, and a join that does without the branch."""
    return flow(
        stage("a", x="query.x"),
        stage("b", cut, y="a.y"),
        stage("c", refuse_13, y="a.y", when=odd),
        stage("d", summed, one="b.y", other="c.y", third="query.x"),
        of=answer(both, left="d.y", right="query.x"),
    )


def two_ends() -> PipelineFlow:
    """Two stages begin, each leads to another, and the answer takes what there is."""
    return flow(
        stage("a", x="query.x"),
        stage("b", x="query.x"),
        stage("c", refuse_13, y="a.y"),
        stage("d", x="b.y", unless=odd),
        of=answer(either, left="c.y", right="d.y"),
    )


def dead_ends() -> PipelineFlow:
    """Even queries have no answer."""
    return flow(stage("a", x="query.x"), stage("b", cut, y="a.y", when=odd), stage("c", total, y="b.y"))


PIPELINES: Sequence[Callable[[], PipelineFlow]] = (sequence, fan_out, parts, everything, two_ends, dead_ends)


KINDS = (
    *("arrive",) * 5,
    *("done",) * 8,
    *("join", "join", "hold", "lose", "lose all", "fail", "timer", "cancel", "plan", "drop"),
)


EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 11), st.floats(0.0, 0.04)), max_size=140)


POLICIES = (GreedySelection(), Patient(rows=3), EarlyDrop(), AdaptiveBatching())


def expected(made: PipelineFlow, query: Query) -> list[int] | type[Exception]:
    """What a query is to be answered: its graph, evaluated stage by stage without jobs."""
    values: dict[str, dict[str, Any]] = {QUERY: dict(query.inputs)}
    try:
        for node in made.graph.nodes:
            there = [source in values for source in node.sources]
            lacks = not (node.independent or any(there) or not there) or any(n not in values for n in node.needs)
            if lacks or (node.runs is not None and not node.runs(values)):
                continue
            x = [part.inputs["x"] for part in node.parts(values)]
            values[node.name] = {"y": np.concatenate(x) * 10 + DIGITS[node.name]} if x else dict(node.nothing)
        (y,) = made.graph.answer(query, values).values()
    except (AdapterFailed, NothingToAnswer) as error:
        return type(error)
    found: list[int] = y.tolist()
    return found


class History:
    """A host that carries commands out as events say, and notes what became of queries."""

    def __init__(self, pipeline: Callable[[], PipelineFlow], *, anew: bool = False, **options: Any) -> None:
        self.pipeline = pipeline
        self.flows = [pipeline()]
        self._anew = anew
        self._options = options
        self.d = Dispatcher(plan(self.flows[-1], **options))
        self.stages = [node.name for node in self.flows[-1].graph.nodes]
        self.now_s = 0.0
        self.wake_s = inf
        self.running: dict[str, Batch] = {}
        self.queries: dict[int, Query] = {}
        self.ended: dict[int, list[Command]] = {}
        self.cancelled: set[int] = set()
        for number, name in enumerate(self.stages):
            self.join(f"w{number}", [name])

    def join(self, worker: str, held: Sequence[str]) -> None:
        self.note(self.d.on_worker_ready(worker, WorkerInfo("cpu"), held, self.now_s))

    def note(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Launch):
                batch = command.batch
                assert batch.worker not in self.running, "a worker runs one batch at a time"
                assert batch.variant in self.d.workers[batch.worker].variants
                assert {job.stage for job in batch.jobs} == {batch.stage.stage}
                self.running[batch.worker] = batch
            elif isinstance(command, WakeAt):
                assert command.at_s < self.wake_s, "a new one is never later than the one before"
                assert command.at_s >= self.now_s, "nor in the past"
                self.wake_s = command.at_s
            elif isinstance(command, Answer | Reject):
                query = command.query
                assert self.now_s <= query.arrival_s + GIVE_UP_AFTER * query.allowed_s, "it was given up by then"
                self.ended.setdefault(query.id, []).append(command)
        waiting = [job.query.id for lane in self.lanes() for job in lane.queue]
        assert self.ended.keys().isdisjoint(waiting), "no part of a query waits that has ended"

    def lanes(self) -> list[Lane]:
        return [lane for endpoint in self.d.queues.by_name.values() for lane in endpoint.distinct_lanes()]

    def ring(self) -> None:
        self.wake_s = inf
        self.note(self.d.on_timer(self.now_s))

    def advance(self, step_s: float) -> None:
        """Time passes, and wake-ups come at their time."""
        until_s = self.now_s + step_s
        while self.wake_s <= until_s:
            self.now_s = max(self.now_s, self.wake_s)
            self.ring()
        self.now_s = until_s

    def on(self, kind: str, which: int, step_s: float) -> None:
        self.advance(step_s)
        d, now_s = self.d, self.now_s
        worker = f"w{which % 6}"
        if kind == "arrive":
            number = len(self.queries)
            rows = 1 + which % 3
            x = np.array([number * 3 + row for row in range(rows)])
            made = Query(number, "e", now_s, now_s + 0.02 * (1 + which), rows, {"x": x})
            self.queries[number] = made
            self.note(d.on_arrival(made, now_s))
        elif kind == "join":
            name = self.stages[which % len(self.stages)]
            self.join(worker, [name, f"{name}-small"][which % 2 :])
        elif kind == "hold":
            self.note(d.reassign({worker: self.stages[which % 3 :: 2], "w0": [f"{self.stages[0]}-small"]}, now_s))
        elif kind in ("lose", "lose all"):
            lost = [worker, "unknown"] if kind == "lose" else list(d.workers)
            for each in lost:
                self.running.pop(each, None)
            self.note(d.on_workers_lost(lost, now_s))
        elif kind == "timer":
            self.ring()
        elif kind == "plan":
            if self._anew and "e" not in d.plan.endpoints:
                self.flows.append(self.pipeline())
            self.note(d.apply(plan(self.flows[-1], d.plan.version + 1, **self._options), now_s))
        elif kind == "drop":
            self.note(d.apply(Plan(d.plan.version + 1, {}), now_s))
        elif kind == "cancel" and self.queries:
            victim = self.queries[max(0, len(self.queries) - 1 - which)]
            if victim.id not in self.ended:
                self.cancelled.add(victim.id)
            d.on_cancel(victim)
        elif worker in self.running:
            self.finish(worker, kind)

    def finish(self, worker: str, kind: str = "done") -> None:
        batch = self.running.pop(worker)
        if kind == "fail":
            self.note(self.d.on_failed(worker, batch.id, "broken", self.now_s))
        else:
            self.note(self.d.on_done(worker, batch.id, results(batch), 0.001, self.now_s))

    def settle(self) -> None:
        """Time passes, and what runs comes back."""
        for _ in range(40 * len(self.queries) + 20):
            if not self.running and self.wake_s == inf:
                return
            step_s = 0.01 if self.running else self.wake_s - self.now_s
            self.advance(step_s)
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
        assert not self.d.queues.running
        assert not any(worker.load.queued_rows or worker.load.running_rows for worker in self.d.workers.values())
        for endpoint in self.d.queues.by_name.values():
            assert not endpoint.lane_of
        for (outcome,) in self.ended.values():
            assert isinstance(outcome, Answer | Reject)
            right = expected(self.flows[0], outcome.query)
            if isinstance(outcome, Answer):
                assert next(iter(outcome.outputs.values())).tolist() == right
                assert [run.stage for run in outcome.stages] == [
                    part.partition(":")[0] for part in outcome.variant.split("+")
                ]
            elif isinstance(outcome.error, AdapterFailed | NothingToAnswer):
                assert type(outcome.error) is right
