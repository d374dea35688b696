"""What went wrong lately in the answer of ``GET /accord/status``; nothing where nothing did."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from deployments.router.observing.worker_events import WorkerEvent

MOST_SHOWN = 8

BAD = (WorkerEvent.DIED, WorkerEvent.HANGS, WorkerEvent.GONE)


def render_faults(events: dict[str, Any], controller: dict[str, Any]) -> list[Table | Text]:
    """Workers that died, hung or went, the last first, and what is wrong with the controller."""
    return [*_workers(events), *_controller(controller)]


def _workers(events: dict[str, Any]) -> list[Table | Text]:
    counts = events.get("counts", {})
    if not any(counts.get(kind.value) for kind in BAD):
        return []
    table = Table("ago", Column("worker", overflow="fold"), "", title="What befell workers", title_justify="left")
    for event in events.get("last", [])[:MOST_SHOWN]:
        style = "red" if event["what"] in BAD else ""
        table.add_row(f"{event['ago_s']:.0f} s", Text(event["worker"]), Text(event["what"], style=style))
    total = ", ".join(f"{counts[kind.value]} {kind.value}" for kind in WorkerEvent if counts.get(kind.value))
    table.caption = f"since the routers began: {total}"
    hanging = events.get("hanging_s", {}).items()
    silent = [Text(f"Worker {worker} has not answered for {s:.0f} s", style="red") for worker, s in hanging]
    return [table, *silent]


def _controller(controller: dict[str, Any]) -> list[Table | Text]:
    said = []
    if not controller.get("answers", True):
        said.append(f"The controller does not answer; inference goes on without it: {controller.get('why_not')}")
    state = controller.get("state") or {}
    if not state.get("saved", True):
        said.append(f"The controller's state has not been saved since {state.get('since')}: {state.get('why_not')}")
    if controller.get("refused_config"):
        said.append(f"A changed config was refused: {controller['refused_config']}")
    return [Text(each, style="red") for each in said]
