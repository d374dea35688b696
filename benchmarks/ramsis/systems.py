"""The systems that are compared: what each makes beforehand, and the plan that it serves by."""

import sys
from dataclasses import dataclass, replace

from benchmarks.ramsis.task import DEVICE, ENDPOINT, Task
from benchmarks.ramsis.workloads import Workload
from dispatch.balancing.round_robin import RoundRobin
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.load_based import jellyfish, model_switching
from dispatch.selection.load_based.load_ladder import LoadLadder
from dispatch.selection.policy import SelectionPolicy
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.per_decision.process import solve_per_decision
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.selection.ramsis.problem import Formulation, WorkerProblem
from dispatch.selection.ramsis.slack import slack_grid
from dispatch.selection.ramsis.solver import solve_single
from dispatch.selection.ramsis.tables.grid import TableGrid, beyond_table
from dispatch.selection.ramsis.tables.maker import TableStore, make_table
from dispatch.selection.ramsis.tables.table import DecisionTable
from dispatch.selection.slack_fit import SlackFitSelection
from dispatch.table_plan import TableGroup
from simulator.switching import switching_ladder

FORMULATIONS: dict[str, Formulation] = {
    "ramsis": "per_decision",
    "ramsis_slack": "per_decision",
    "ramsis_grouped": "per_decision",
    "accord_single": "per_query",
    "accord": "per_query",
}
"""Systems with decision tables: the paper's process; the same with the slack times that ours tells apart; the paper's
tables where round robin gives as many consecutive queries to a worker as with ours; ours without groups; and ours."""

BASELINES = (jellyfish.NAME, model_switching.NAME, SlackFitSelection.name)
SYSTEMS = ("ramsis", *BASELINES, "ramsis_slack", "ramsis_grouped", "accord_single", "accord")


@dataclass(frozen=True)
class TableJob:
    """Make the table of one system at one load; can be sent to another process."""

    task: Task
    system: str
    load_qps: float
    store: TableStore | None

    @property
    def problem(self) -> WorkerProblem:
        """What the table is made for."""
        task, formulation = self.task, FORMULATIONS[self.system]
        arrivals = Poisson(self.load_qps)
        return WorkerProblem.of(
            task.candidates, task.slo_s, task.workers, arrivals, formulation, late_share=task.late_share
        )

    def __call__(self) -> DecisionTable:
        """Made anew, or kept from before."""
        problem = self.problem
        if self.system == "ramsis_slack":
            return solve_per_decision(problem, slack_grid(replace(problem, formulation="per_query")))
        if self.system == "accord_single":
            return solve_single(problem)
        table = make_table(problem, store=self.store)
        if self.system == "ramsis_grouped":
            ours = make_table(replace(self, system="accord").problem, store=self.store)
            return replace(table, group=ours.group)
        return table


@dataclass(frozen=True)
class ResponseJob:
    """Profile response latencies for ModelSwitching; can be sent to another process."""

    task: Task
    loads_qps: tuple[float, ...]

    def __call__(self) -> LoadLadder:
        """The ladder that the latencies lead to."""
        return switching_ladder(self.task.candidates, self.task.slo_s, self.task.workers, loads_qps=self.loads_qps)


def table_plan(task: Task, workload: Workload, tables: tuple[DecisionTable, ...]) -> EndpointPlan:
    """Serving by decision tables with round robin, in groups where they were made for groups."""
    load = workload.monitor()
    problem = WorkerProblem.of(task.candidates, task.slo_s, task.workers, Poisson(1.0))
    ordered = tuple(sorted(tables, key=lambda table: table.load_qps))
    grid = TableGrid(ordered, beyond_table(problem, ordered[-1].group))
    selection = RamsisSelection({DEVICE: grid})
    balancer = RoundRobin(TableGroup(selection, load))
    return EndpointPlan.of_stage(
        ENDPOINT,
        StagePlan({DEVICE: task.candidates}, selection, balancer, load),
        slo_s=task.slo_s,
        max_queued_rows=sys.maxsize,
    )


def central_plan(task: Task, workload: Workload, selection: SelectionPolicy) -> EndpointPlan:
    """Serving from a central queue, by load alone or by slack."""
    candidates = {DEVICE: task.candidates}
    return EndpointPlan.of_stage(
        ENDPOINT,
        StagePlan(candidates, selection, None, workload.monitor()),
        slo_s=task.slo_s,
        max_queued_rows=sys.maxsize,
    )
