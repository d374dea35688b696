"""Makes what the systems need and plays every point of a sweep, in several processes."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.ramsis.systems import (
    FORMULATIONS,
    SYSTEMS,
    ResponseJob,
    TableJob,
    central_plan,
    table_plan,
)
from benchmarks.ramsis.task import ENDPOINT, Task
from benchmarks.ramsis.workloads import Workload
from dispatch.plan import EndpointPlan, Plan
from dispatch.selection.load_based import jellyfish, model_switching
from dispatch.selection.load_based.load_ladder import LoadLadder
from dispatch.selection.ramsis.tables.maker import TableStore
from dispatch.selection.ramsis.tables.table import DecisionTable
from dispatch.selection.slack_fit import SlackFitSelection
from simulator.host import Host
from simulator.reporting.report import Report

Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Outcome:
    """One system at one point, in percent; accuracies are None where no query was in time.

    For ``batch_accuracy_pct`` and ``batch_violation_pct`` a batch is late as a whole when its earliest deadline is.
    """

    accuracy_pct: float | None
    violation_pct: float
    batch_accuracy_pct: float | None
    batch_violation_pct: float


@dataclass(frozen=True)
class Point:
    """One load, or trace, on one number of workers with one objective; outcomes by system."""

    slo_s: float
    workers: int
    load_qps: float
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, eq=False)
class Run:
    """One system on one workload under one seed; can be sent to another process."""

    task: Task
    workload: Workload
    plan: EndpointPlan
    seed: int

    def __call__(self) -> Outcome:
        """Play it, at planned latencies as the paper's simulator does, or at random ones."""
        latency = self.task.latency(self.plan, self.seed)
        host = Host(Plan(1, {ENDPOINT: self.plan}), self.task.worker_ids, latency)
        record = host.run({ENDPOINT: self.workload.arrivals_s(self.seed)})
        report = Report.of(record, interval_s=self.workload.duration_s).endpoints[ENDPOINT]
        return Outcome(
            report.accuracy_pct,
            report.violation_pct or 0.0,
            report.accuracy_by_batch_pct,
            report.violation_by_batch_pct or 0.0,
        )


def play(
    cases: Sequence[tuple[Task, Workload]], seeds: Sequence[int], executor: Executor, store: TableStore | None
) -> list[Point]:
    """One point per case, means over the seeds."""
    tables = _all(executor, "decision tables", _table_jobs(cases, store))
    ladders = _all(executor, "response latencies", _response_jobs(cases))
    runs = {}
    for number, (task, workload) in enumerate(cases):
        for system in SYSTEMS:
            plan = _plan(system, task, workload, tables, ladders[task, workload.highest_qps])
            for seed in seeds:
                runs[number, system, seed] = Run(task, workload, plan, seed)
    outcomes = _all(executor, "simulations", runs)
    return [
        Point(
            task.slo_s,
            task.workers,
            workload.load_qps,
            {system: _mean([outcomes[number, system, seed] for seed in seeds]) for system in SYSTEMS},
        )
        for number, (task, workload) in enumerate(cases)
    ]


def _table_jobs(
    cases: Sequence[tuple[Task, Workload]], store: TableStore | None
) -> dict[tuple[Task, str, float], TableJob]:
    return {
        (task, system, load_qps): TableJob(task, system, load_qps, store)
        for task, workload in cases
        for system in FORMULATIONS
        for load_qps in workload.tables_qps
    }


def _response_jobs(cases: Sequence[tuple[Task, Workload]]) -> dict[tuple[Task, float], ResponseJob]:
    """One per task and sweep, for all the loads that are profiled in it."""
    loads_qps: dict[tuple[Task, float], set[float]] = {(task, workload.highest_qps): set() for task, workload in cases}
    for task, workload in cases:
        loads_qps[task, workload.highest_qps].update(workload.profiled_qps)
    return {key: ResponseJob(key[0], tuple(sorted(loads))) for key, loads in loads_qps.items()}


def _plan(
    system: str,
    task: Task,
    workload: Workload,
    tables: Mapping[tuple[Task, str, float], DecisionTable],
    switching: LoadLadder,
) -> EndpointPlan:
    if system == jellyfish.NAME:
        return central_plan(task, workload, jellyfish.jellyfish_plus(task.candidates, task.slo_s, task.workers))
    if system == model_switching.NAME:
        return central_plan(task, workload, switching)
    if system == SlackFitSelection.name:
        return central_plan(task, workload, SlackFitSelection())
    return table_plan(task, workload, tuple(tables[task, system, load] for load in workload.tables_qps))


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(
        _mean_of_known([outcome.accuracy_pct for outcome in outcomes]),
        fmean(outcome.violation_pct for outcome in outcomes),
        _mean_of_known([outcome.batch_accuracy_pct for outcome in outcomes]),
        fmean(outcome.batch_violation_pct for outcome in outcomes),
    )


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _all(executor: Executor, name: str, jobs: Mapping[Key, Callable[[], Result]]) -> dict[Key, Result]:
    """The results of jobs, by their keys, behind a progress bar on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(name, total=len(jobs))
        futures = {executor.submit(job): key for key, job in jobs.items()}
        results = {}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            progress.advance(bar)
    return results
