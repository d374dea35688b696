"""Workers that are busy, and queries that come meanwhile."""

from catalog.errors import AccordError
from dispatch.admission.rules import AdmissionRules
from dispatch.commands import Command, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.selection.policy import Choice, QueueView
from dispatch_scene import dispatcher, endpoint, launched, query, rejected

RULES = AdmissionRules()


class MostAccurate:
    """Never in a hurry."""

    name = "most_accurate"

    def choose(self, view: QueueView) -> Choice:
        best = view.candidates[0]
        return Choice(best.variant, best.batch_rows(view.rows))


def busy(
    selection: object = None, balancing: str = "round_robin", max_queued_rows: int = 100, workers: int = 1
) -> Dispatcher:
    """Every worker runs one query on the slow variant, for 40 ms; the fast one takes 8 rows in 8 ms."""
    chosen = selection or MostAccurate()
    made = dispatcher(
        endpoint(admission=RULES, selection=chosen, balancing=balancing, max_queued_rows=max_queued_rows),  # type: ignore[arg-type]
        workers=[f"w{number}" for number in range(workers)],
    )
    for number in range(workers):
        assert launched(made.on_arrival(query(number), 0.0))
    return made


def let_in(d: Dispatcher, first: int, most: int, now_s: float, **asked: float) -> tuple[int, list[Command]]:
    """How many of so many queries are let in, and all that came of them."""
    commands: list[Command] = []
    refused = 0
    for number in range(first, first + most):
        came = d.on_arrival(query(number, now_s, **asked), now_s)  # type: ignore[arg-type]
        refused += number in rejected(came)
        commands += came
    return most - refused, commands


def error_of(commands: list[Command]) -> AccordError:
    (refusal,) = (command for command in commands if isinstance(command, Reject))
    return refusal.error
