"""Small scenes for the dispatcher: two variants, a few workers, and what came out."""

from collections.abc import Iterable

from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.shortest_queue import ShortestQueue
from dispatch.commands import Answer, Command, Launch, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch, Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy

FAST = Candidate("fast", 0.7, (0.0, *(0.001 * n for n in range(1, 9))))
SLOW = Candidate("slow", 0.9, (0.0, *(0.040 * n for n in range(1, 9))))


def endpoint(
    name: str = "digits",
    drop_late: bool = False,
    selection: SelectionPolicy | None = None,
    max_queued_rows: int = 100,
    shortest: bool = False,
) -> EndpointPlan:
    balancer = ShortestQueue() if shortest else RoundRobin()
    chosen = selection or GreedySelection()
    return EndpointPlan(name, 0.1, drop_late, max_queued_rows, {"cpu": (FAST, SLOW)}, chosen, balancer)


def dispatcher(*endpoints: EndpointPlan, workers: Iterable[str] = ("w1",)) -> Dispatcher:
    made = Dispatcher(Plan(1, {e.name: e for e in endpoints or (endpoint(),)}))
    for worker in workers:
        made.on_worker_ready(worker, "cpu", ["fast", "slow"], 0.0)
    return made


def query(query_id: int, now_s: float = 0.0, slo_s: float = 0.1, rows: int = 1, name: str = "digits") -> Query:
    return Query(query_id, name, now_s, now_s + slo_s, rows, {"x": [query_id] * rows})


def launched(commands: list[Command]) -> list[Batch]:
    return [c.batch for c in commands if isinstance(c, Launch)]


def answered(commands: list[Command]) -> list[int]:
    return [c.query.id for c in commands if isinstance(c, Answer)]


def rejected(commands: list[Command]) -> dict[int, type[Exception]]:
    return {c.query.id: type(c.error) for c in commands if isinstance(c, Reject)}


def finish(d: Dispatcher, batch: Batch, now_s: float) -> list[Command]:
    stacked = [value for job in batch.jobs for value in job.query.inputs["x"]]
    return d.on_done(batch.worker, batch.id, {"y": stacked}, 0.001, now_s)
