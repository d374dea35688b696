"""Small pipelines whose tensors say which stages they went through.

Every stage takes ``x`` and gives ``y``, whole numbers, and appends its own digit: stage ``a`` makes 71 of 7, ``b`` then
makes 712 of that.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.adapter import Adapter, Condition, adapter, condition
from catalog.tensor import TensorSpec
from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import create_balancer
from dispatch.commands import Answer, Command, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.assemble import graph_of
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import Batch, Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.worker_info import WorkerInfo

Numbers = NDArray[np.int64]

X, Y = TensorSpec("x", "INT64", (-1,)), TensorSpec("y", "INT64", (-1,))
DIGITS = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
SLO_S = 0.1
RUN_S = 0.01
ACCURACIES = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}

TAKES = {"y": "INT64[-1]"}
GIVES = {"x": "INT64[-1]"}


@adapter(inputs=TAKES, outputs=GIVES)
def cut(y: Numbers) -> dict[str, Numbers]:
    """As many parts as the first number's last but one digit says, numbered from 0."""
    return {"x": y[0] * 10 + np.arange(y[0] // 10 % 10)}


@adapter(inputs={"left": "INT64[-1]", "right": "INT64[-1]"}, outputs=GIVES)
def both(left: Numbers, right: Numbers) -> dict[str, Numbers]:
    return {"x": left * 10_000 + right}


@adapter(inputs={"left": "INT64[-1]", "right": "INT64[-1]"}, outputs=GIVES)
def either(left: Numbers | None = None, right: Numbers | None = None) -> dict[str, Numbers]:
    given = [each for each in (left, right) if each is not None]
    return {"x": np.sum(given, axis=0)}


@adapter(inputs=TAKES, outputs=GIVES)
def total(y: Numbers) -> dict[str, Numbers]:
    """One number of any that there are."""
    return {"x": np.array([y.sum()])}


@adapter(inputs=TAKES, outputs=GIVES)
def refuse_13(y: Numbers) -> dict[str, Numbers]:
    """Passes everything on, but raises where the query's number was 13."""
    if (y // 10 == 13).any():
        raise ValueError("13 brings\nbad luck")
    return {"x": y.copy()}


@condition(inputs=TAKES)
def odd(y: Numbers) -> bool:
    """Whether the query's number was, seen behind the first stage."""
    return bool((y // 10 % 2).all())


def stage(
    name: str,
    through: Adapter | None = None,
    *,
    when: Condition | None = None,
    unless: Condition | None = None,
    of: str = "a.y",
    rows_per_job: int = 1,
    **wires: str,
) -> StageWiring:
    """``wires`` are by input; ``of`` is what a condition takes."""
    told = when or unless
    return StageWiring(
        name,
        (X,),
        (Y,),
        {each: Wire.read(wire, each) for each, wire in wires.items()},
        through,
        told,
        {} if told is None else {"y": Wire.read(of, "y")},
        negated=unless is not None,
        rows_per_job=rows_per_job,
    )


def answer(through: Adapter | None = None, **wires: str) -> AnswerWiring:
    return AnswerWiring({each: Wire.read(wire, each) for each, wire in wires.items()}, through)


def flow(*stages: StageWiring, of: AnswerWiring | None = None, **options: Any) -> PipelineFlow:
    return PipelineFlow(graph_of(stages, of)[0], **options)


def sequence(**options: Any) -> PipelineFlow:
    return flow(stage("a", x="query.x"), stage("b", x="a.y"), stage("c", x="b.y"), **options)


def fan_out() -> PipelineFlow:
    """``b`` and ``c`` behind ``a``, joined in ``d``."""
    return flow(
        stage("a", x="query.x"),
        stage("b", x="a.y"),
        stage("c", x="a.y"),
        stage("d", both, left="b.y", right="c.y"),
    )


def branches() -> PipelineFlow:
    """Odd numbers go through ``b``, even ones through ``c``, all through ``d``."""
    return flow(
        stage("a", x="query.x"),
        stage("b", x="a.y", when=odd),
        stage("c", x="a.y", unless=odd),
        stage("d", either, left="b.y", right="c.y"),
    )


def parts(rows_per_job: int = 1) -> PipelineFlow:
    """``a`` says how many parts there are of ``b``; ``c`` gets their sum."""
    return flow(
        stage("a", x="query.x"), stage("b", cut, y="a.y", rows_per_job=rows_per_job), stage("c", total, y="b.y")
    )


def plan(
    of: PipelineFlow,
    version: int = 1,
    *,
    drop_late: bool = False,
    max_queued_rows: int = 1000,
    selection: SelectionPolicy | None = None,
    balancing: str = "central",
    admission: AdmissionRules | None = None,
    after_s: Mapping[str, float] | None = None,
) -> Plan:
    """Stage ``a`` has the variants ``a`` and the faster, less accurate ``a-small``."""

    def stage_plan(name: str) -> StagePlan:
        latency_s = (0.0, *(RUN_S * (0.8 + 0.2 * n) for n in range(1, 9)))
        small = Candidate(f"{name}-small", ACCURACIES[name] - 0.1, tuple(each / 4 for each in latency_s))
        return StagePlan(
            {"cpu": (Candidate(name, ACCURACIES[name], latency_s), small)},
            selection or GreedySelection(),
            create_balancer(balancing),
            after_s=(after_s or {}).get(name, 0.0),
        )

    stages = {node.name: stage_plan(node.name) for node in of.graph.nodes}
    limits = EndpointLimits(SLO_S, drop_late, max_queued_rows, admission)
    return Plan(version, {"e": EndpointPlan("e", limits, stages, of)})


def scene(of: PipelineFlow, workers: Mapping[str, Iterable[str]] | None = None, **options: Any) -> Dispatcher:
    """A worker for each stage, which has its name, unless said otherwise."""
    made = Dispatcher(plan(of, **options))
    held = {node.name: [node.name] for node in of.graph.nodes} if workers is None else workers
    for worker, variants in held.items():
        made.on_worker_ready(worker, WorkerInfo("cpu"), variants, 0.0)
    return made


def asking(query_id: int, now_s: float = 0.0, numbers: Sequence[int] | None = None) -> Query:
    """About its own id, unless ``numbers`` are given."""
    x = np.array([query_id] if numbers is None else numbers, dtype=np.int64)
    return Query(query_id, "e", now_s, now_s + SLO_S, len(x), {"x": x})


def ask(d: Dispatcher, query_id: int = 7, now_s: float = 0.0, numbers: Sequence[int] | None = None) -> list[Command]:
    return d.on_arrival(asking(query_id, now_s, numbers), now_s)


def results(batch: Batch) -> list[dict[str, Numbers]]:
    """What the stage's variants say of each job."""
    return [{"y": job.inputs["x"] * 10 + DIGITS[batch.stage.stage]} for job in batch.jobs]


def done(d: Dispatcher, worker: str, now_s: float) -> list[Command]:
    """The worker's batch comes back."""
    batch = d.workers[worker].batch
    assert batch is not None, f"worker {worker} runs nothing"
    return d.on_done(worker, batch.id, results(batch), RUN_S, now_s)


def fail(d: Dispatcher, worker: str, now_s: float) -> list[Command]:
    batch = d.workers[worker].batch
    assert batch is not None, f"worker {worker} runs nothing"
    return d.on_failed(worker, batch.id, "broken", now_s)


def running(d: Dispatcher, worker: str) -> list[int]:
    """Queries of the jobs in the batch that the worker runs."""
    batch = d.workers[worker].batch
    return [] if batch is None else [job.query.id for job in batch.jobs]


def answered(commands: Iterable[Command]) -> list[Answer]:
    return [command for command in commands if isinstance(command, Answer)]


def numbers(commands: Iterable[Command]) -> dict[int, list[int]]:
    """What queries were answered, by id."""
    return {each.query.id: next(iter(each.outputs.values())).tolist() for each in answered(commands)}


def refused(commands: Iterable[Command]) -> dict[int, type[Exception]]:
    return {command.query.id: type(command.error) for command in commands if isinstance(command, Reject)}


def reason(commands: Iterable[Command]) -> str:
    """Why the only query that is refused gets no result."""
    (found,) = [str(command.error) for command in commands if isinstance(command, Reject)]
    return found


def woken(commands: Iterable[Command]) -> list[float]:
    return [command.at_s for command in commands if isinstance(command, WakeAt)]


def nothing_is_left(d: Dispatcher, of: PipelineFlow) -> bool:
    """No query is open, no job waits, and no job that runs is one that nobody waits for."""
    return not (of.open_queries or d.queues.rows("e") or d.queues.any_withdrawn)
