"""Slowdowns in the answer of ``GET /accord/status``, as a table of at most 80 columns."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from autoscaler.demand.profile_drift import PERCENTILE
from serve_app.cli.cells import slowdown


def render_slowdowns(workers: dict[str, Any]) -> list[Table]:
    """What neighbours on one node do to each other: predicted and measured; nothing where nobody predicts."""
    shown = {name: worker.get("slowdowns") or {} for name, worker in workers.items()}
    if not any(shown.values()):
        return []
    table = Table(
        Column("worker", overflow="fold"),
        Column("variant", overflow="fold"),
        title="Slowdowns beside neighbours",
        title_justify="left",
    )
    for heading in ("predicted", "measured", "batches"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.caption = f"measured: p{100 * PERCENTILE:.0f} of the run over that of the profile"
    for name, own in shown.items():
        for variant, each in own.items():
            figures = (slowdown(each.get("predicted")), slowdown(each.get("measured")), f"{each.get('batches', 0):.0f}")
            table.add_row(Text(name), Text(variant), *figures)
    return [table]
