"""Small scenes for the dispatcher: two variants, a few workers, and what came out."""

from collections.abc import Iterable
from dataclasses import dataclass

from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import create_balancer
from dispatch.commands import Answer, Answers, Command, Launch, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import NORMAL_PRIORITY, Batch, Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, Drop, Hold, QueueView, SelectionPolicy
from dispatch.worker_info import WorkerInfo

FAST = Candidate("fast", 0.7, (0.0, *(0.001 * n for n in range(1, 9))))
SLOW = Candidate("slow", 0.9, (0.0, *(0.040 * n for n in range(1, 9))))


@dataclass(frozen=True)
class Patient:
    """Holds until ``rows`` wait or the first deadline is ``margin_s`` away; then the fastest variant takes all."""

    rows: int = 2
    margin_s: float = 0.05
    name: str = "patient"

    def choose(self, view: QueueView) -> Choice | Hold:
        until_s = view.earliest_deadline_s - self.margin_s
        if view.rows < self.rows and until_s > view.now_s:
            return Hold(until_s)
        fastest = view.candidates[-1]
        return Choice(fastest.variant, fastest.batch_rows(view.rows))


@dataclass(frozen=True)
class Faulty:
    """Says, by how many rows wait, each thing that cannot be carried out, and decides now and then."""

    name: str = "faulty"

    def choose(self, view: QueueView) -> Choice | Hold | Drop:
        said = (Drop(0), Choice("gone", 1), Hold(view.now_s), Choice("slow", 0), Choice("fast", 2))
        if view.rows % 7 < len(said):
            return said[view.rows % 7]
        raise IndexError(f"{view.rows} rows")


def endpoint(
    name: str = "digits",
    drop_late: bool = False,
    selection: SelectionPolicy | None = None,
    max_queued_rows: int = 100,
    balancing: str = "round_robin",
    admission: AdmissionRules | None = None,
) -> EndpointPlan:
    chosen = selection or GreedySelection()
    return EndpointPlan.of_stage(
        name,
        StagePlan({"cpu": (FAST, SLOW)}, chosen, create_balancer(balancing)),
        slo_s=0.1,
        drop_late=drop_late,
        max_queued_rows=max_queued_rows,
        admission=admission,
    )


def dispatcher(*endpoints: EndpointPlan, workers: Iterable[str] = ("w1",)) -> Dispatcher:
    made = Dispatcher(Plan(1, {e.name: e for e in endpoints or (endpoint(),)}))
    for worker in workers:
        made.on_worker_ready(worker, WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    return made


def query(
    query_id: int,
    now_s: float = 0.0,
    slo_s: float = 0.1,
    rows: int = 1,
    name: str = "digits",
    priority: int = NORMAL_PRIORITY,
) -> Query:
    return Query(query_id, name, now_s, now_s + slo_s, rows, {"x": [query_id] * rows}, None, priority)


def launched(commands: list[Command]) -> list[Batch]:
    return [c.batch for c in commands if isinstance(c, Launch)]


def answered(commands: list[Command]) -> list[int]:
    return [answer.query.id for answer in answers(commands)]


def answers(commands: list[Command]) -> list[Answer]:
    return [answer for c in commands if isinstance(c, Answers) for answer in c.each()]


def rejected(commands: list[Command]) -> dict[int, type[Exception]]:
    return {c.query.id: type(c.error) for c in commands if isinstance(c, Reject)}


def finish(d: Dispatcher, batch: Batch, now_s: float) -> list[Command]:
    outputs = [{"y": job.query.inputs["x"]} for job in batch.jobs]
    return d.on_done(batch.worker, batch.id, outputs, 0.001, now_s)
