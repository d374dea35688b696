"""Queries of several jobs in the dispatcher: a first stage that makes parts, a second that runs them, and a join.

The flow is the test's own: queues, retries and cancels know jobs, and only the flow knows queries.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from catalog.errors import AccordError, DeadlineMissed, UnknownEndpoint, VariantFailed
from dispatch.commands import Answer, BatchDone, Command, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.flow.flow import Step
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import Job, Query, StageKey
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from dispatch_scene import launched, query

CUT = Candidate("cut", 0.9, (0.0, *(0.001 * n for n in range(1, 9))))
READ = Candidate("read", 0.8, (0.0, *(0.001 * n for n in range(1, 9))))


@dataclass
class PartsFlow:
    """Stage ``cut`` gives a number of parts; each is a job of stage ``read``; the answer has them all."""

    last_id: int = 0
    open: dict[int, dict[int, Job]] = field(default_factory=dict)
    parts: dict[int, list[Any]] = field(default_factory=dict)

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]]:
        self.open[query.id], self.parts[query.id] = {}, []
        return self._job(query, "cut"), ()

    def on_done(self, done: BatchDone) -> Step:
        jobs: list[Job] = []
        answers: list[Answer] = []
        for job, own in zip(done.batch.jobs, done.outputs, strict=True):
            query_id = job.query.id
            if job.id in done.withdrawn or query_id not in self.open:
                continue
            del self.open[query_id][job.id]
            if job.stage == "cut":
                jobs += [self._job(job.query, "read") for _ in range(own["parts"])]
                continue
            self.parts[query_id].append(own["y"])
            if not self.open[query_id]:
                del self.open[query_id]
                outputs = {"y": self.parts.pop(query_id)}
                batch = done.batch
                given = (job.query, batch.variant, batch.accuracy, outputs, batch.rows, batch.launched_s)
                answers.append(Answer(*given, done.done_s, done.run_s))
        return Step(enqueue=jobs, outcomes=answers)

    def on_failed(self, job: Job, error: AccordError, now_s: float) -> Step:
        others = self.open.pop(job.query.id, None)
        if others is None:
            return Step()
        return Step(
            withdraw=[each for each in others.values() if each.id != job.id], outcomes=(Reject(job.query, error),)
        )

    def withdraw(self, query: Query) -> Sequence[Job]:
        return list(self.open.pop(query.id, {}).values())

    def answers_with(self, stages: Collection[str]) -> bool:
        return len(stages) == 2

    def _job(self, query: Query, stage: str) -> Job:
        self.last_id += 1
        made = Job(self.last_id, query, query.deadline_s, 1, query.inputs, stage)
        self.open[query.id][made.id] = made
        return made


def plan(version: int = 1, drop_late: bool = False, max_queued_rows: int = 100) -> Plan:
    stages = {
        name: StagePlan({"cpu": (candidate,)}, GreedySelection(), None)
        for name, candidate in (("cut", CUT), ("read", READ))
    }
    return Plan(
        version, {"page": EndpointPlan("page", EndpointLimits(0.1, drop_late, max_queued_rows), stages, PartsFlow())}
    )


def scene(of: Plan | None = None, **workers: Sequence[str]) -> Dispatcher:
    """Worker ``a`` cuts and ``b`` reads, unless said otherwise."""
    made = Dispatcher(of or plan())
    for worker, held in (workers or {"a": ["cut"], "b": ["read"]}).items():
        made.on_worker_ready(worker, WorkerInfo("cpu"), held, 0.0)
    return made


def ask(d: Dispatcher, query_id: int = 1, now_s: float = 0.0) -> list[Command]:
    return d.on_arrival(query(query_id, now_s, name="page"), now_s)


def cut(d: Dispatcher, parts: int, now_s: float) -> list[Command]:
    batch = d.workers["a"].batch
    assert batch is not None
    assert batch.stage == StageKey("page", "cut")
    return d.on_done("a", batch.id, [{"parts": parts} for _ in batch.jobs], 0.001, now_s)


def read(d: Dispatcher, now_s: float, worker: str = "b") -> list[Command]:
    batch = d.workers[worker].batch
    assert batch is not None
    return d.on_done(worker, batch.id, [{"y": job.id} for job in batch.jobs], 0.001, now_s)


def answers(commands: list[Command]) -> list[Answer]:
    return [command for command in commands if isinstance(command, Answer)]


def refused(commands: list[Command]) -> list[type[Exception]]:
    return [type(command.error) for command in commands if isinstance(command, Reject)]


def test_one_result_leads_to_several_jobs_and_the_last_of_them_to_the_answer() -> None:
    d = scene()
    ask(d)
    (first,) = launched(cut(d, 3, 0.01))
    assert (first.worker, first.rows, first.stage) == ("b", 1, StageKey("page", "read"))
    assert d.queues.rows("page") == 2
    done = read(d, 0.02)
    assert answers(done) == []
    (rest,) = launched(done)
    assert rest.rows == 2
    (answer,) = answers(read(d, 0.03))
    assert (answer.query.id, answer.outputs, answer.latency_s) == (1, {"y": [2, 3, 4]}, 0.03)
    assert d.queues.rows("page") == 0


def test_every_batch_is_metered_once_whatever_it_means_for_queries() -> None:
    d = scene()
    ask(d)
    commands = [*cut(d, 1, 0.01), *read(d, 0.02)]
    metered = [command.batch.stage.stage for command in commands if isinstance(command, BatchDone)]
    assert metered == ["cut", "read"]


def test_a_part_that_fails_for_good_ends_its_query_once_and_withdraws_the_other_parts() -> None:
    d = scene()
    ask(d)
    cut(d, 3, 0.01)
    commands: list[Command] = []
    for _ in range(3):
        batch = d.workers["b"].batch
        assert batch is not None
        commands += d.on_failed("b", batch.id, "no such letter", 0.02)
        if refused(commands):
            break
        while (other := d.workers["b"].batch) is not None and other.jobs[0].id != batch.jobs[0].id:
            commands += read(d, 0.02)
    assert refused(commands) == [VariantFailed]
    assert answers(commands) == []
    assert d.queues.rows("page") == 0


def test_a_withdrawn_query_leaves_the_queue_and_what_runs_for_it_comes_to_nothing() -> None:
    d = scene()
    ask(d)
    asked = query(1, 0.0, name="page")
    cut(d, 3, 0.01)
    assert d.queues.rows("page") == 2
    d.on_cancel(asked)
    assert d.queues.rows("page") == 0
    commands = read(d, 0.02)
    (done,) = [command for command in commands if isinstance(command, BatchDone)]
    assert done.withdrawn == {2}
    assert answers(commands) == []
    assert launched(commands) == []


def test_parts_of_a_lost_worker_are_run_by_another() -> None:
    d = scene(a=["cut"], b=["read"], c=["read"])
    ask(d)
    cut(d, 2, 0.01)
    assert [d.workers[worker].batch is not None for worker in ("b", "c")] == [True, True]
    assert launched(d.on_workers_lost(["b"], 0.015)) == []
    (again,) = launched(read(d, 0.02, "c"))
    assert [job.attempt for job in again.jobs] == [1]
    (answer,) = answers(read(d, 0.03, "c"))
    assert sorted(answer.outputs["y"]) == [2, 3]


def test_the_bound_of_the_queue_is_of_all_stages_together() -> None:
    d = scene(plan(max_queued_rows=2))
    ask(d)
    cut(d, 3, 0.01)
    commands = ask(d, 2, 0.01)
    assert [command.error.__class__.__name__ for command in commands if isinstance(command, Reject)] == ["Saturated"]
    assert len(answers(read(d, 0.02)) + answers(read(d, 0.03))) == 1, "the others are not touched"


def test_late_parts_end_their_query_once_where_late_queries_are_dropped() -> None:
    d = scene(plan(drop_late=True), a=["cut"], b=["read"])
    ask(d)
    ask(d, 2)
    cut(d, 3, 0.01)
    commands = d.on_timer(0.11)
    assert refused(commands) == [DeadlineMissed], "two parts of the first query wait, and one runs"
    assert answers(read(d, 0.12)) == []
    assert d.queues.rows("page") == 0


def test_each_stage_learns_of_its_own_load() -> None:
    d = scene()
    for number in range(5):
        ask(d, number + 1, 0.01 * number)
    cut(d, 4, 0.05)
    stages = d.plan.endpoints["page"].stages
    assert stages["read"].load.load_qps(0.05) == pytest.approx(4 / 0.05)
    assert stages["cut"].load.load_qps(0.05) == pytest.approx(5 / 0.05)


def test_an_endpoint_is_served_where_each_stage_has_a_worker() -> None:
    d = scene(a=["cut"])
    assert not d.queues.served("page")
    d.on_worker_ready("b", WorkerInfo("cpu"), ["read"], 0.0)
    assert d.queues.served("page")


def test_a_removed_endpoint_refuses_its_queries_once_and_what_still_runs_leads_to_no_more_jobs() -> None:
    d = scene()
    ask(d)
    ask(d, 2)
    batch = d.workers["a"].batch
    assert batch is not None
    commands = d.apply(Plan(2, {}), 0.01)
    assert refused(commands) == [UnknownEndpoint]
    late = d.on_done("a", batch.id, [{"parts": 2} for _ in batch.jobs], 0.001, 0.02)
    assert refused(late) == [UnknownEndpoint]
    assert launched(late) == []


def test_stages_stay_as_they_are_while_an_endpoint_is_served() -> None:
    d = scene()
    other = EndpointPlan(
        "page", EndpointLimits(0.1, False, 9), {"cut": plan().endpoints["page"].stages["cut"]}, PartsFlow()
    )
    with pytest.raises(ValueError, match="endpoint 'page' cannot get other stages while it is served"):
        d.apply(Plan(2, {"page": other}), 0.0)
    assert d.plan.version == 1


def test_a_worker_runs_a_candidate_of_several_members_where_it_holds_them_all() -> None:
    stacked = Candidate("both", 0.95, (0.0, 0.002), members=("cut", "read"))
    stage = StagePlan({"cpu": (stacked,)}, GreedySelection(), None)
    d = Dispatcher(Plan(1, {"page": EndpointPlan.of_stage("page", stage, slo_s=0.1, max_queued_rows=9)}))
    d.on_worker_ready("a", WorkerInfo("cpu"), ["cut"], 0.0)
    assert not d.queues.served("page")
    (batch,) = launched([*ask(d), *d.on_worker_ready("b", WorkerInfo("cpu"), ["cut", "read"], 0.0)])
    assert (batch.worker, batch.variant) == ("b", "both")
