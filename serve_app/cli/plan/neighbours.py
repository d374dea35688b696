"""What a plan reckons workers of one node to do to each other, as tables of at most 80 columns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from serve_app.cli.cells import slowdown


def render_neighbours(decision: Mapping[str, Any]) -> list[RenderableType]:
    """A table for each node on which several workers run something; nothing where nobody predicts slowdowns."""
    nodes: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for each in decision.get("neighbours", []):
        nodes[each["node"], each["machine"]].append(each)
    return [_table(node, machine, own) for (node, machine), own in nodes.items()]


def render_corrections(interference: Mapping[str, Any] | None) -> list[RenderableType]:
    """How far predictions were from what was measured, by place; nothing before anything was."""
    corrections = (interference or {}).get("corrections", [])
    if not corrections:
        return []
    table = Table(
        Column("machine", overflow="fold"),
        Column("variant", overflow="fold"),
        Column("beside", overflow="fold"),
        title="Predicted slowdowns corrected by what was measured",
        title_justify="left",
    )
    for heading in ("times", "batches"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in corrections:
        beside = ", ".join(each["beside"]) or "any others"
        cells = (Text(each["machine"]), Text(each["variant"]), Text(beside))
        table.add_row(*cells, slowdown(each["factor"]), f"{each['batches']:.0f}")
    return [table]


def _table(node: str, machine: str, standings: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(
        Column("worker", overflow="fold"),
        Column("variant", overflow="fold"),
        Column("beside", overflow="fold"),
        title=f"Neighbours on node {node[:12]}, {machine or 'machine type unknown'}",
        title_justify="left",
    )
    for heading in ("predicted", "reckoned"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.caption = "slowdowns: by the model, and with what was measured, which the plan reckons with"
    for each in standings:
        beside = "\n".join(" or ".join(own) for own in each["beside"])
        cells = (Text(each["worker"]), Text(each["variant"]), Text(beside))
        table.add_row(*cells, slowdown(each["predicted"]), slowdown(each["reckoned"]))
    return table
