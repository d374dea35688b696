"""The stages of pipelines in the answer of ``GET /accord/status``, as a table of at most 80 columns."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from serve_app.cli.cells import cell


def render_stages(endpoints: dict[str, Any]) -> list[Table]:
    """One row a stage, in the order of the pipeline; nothing without pipelines."""
    pipelines = {name: endpoint.get("stages") or {} for name, endpoint in endpoints.items()}
    if not any(pipelines.values()):
        return []
    table = Table(
        Column("endpoint", overflow="fold"),
        "stage",
        Column("served by", no_wrap=True),
        title="Stages",
        title_justify="left",
    )
    for heading in ("workers", "queued", "jobs", "queue", "run", "in all"):
        table.add_column(heading, justify="right")
    table.caption = "jobs of a query; 95th percentiles over the last minute in ms"
    for name, stages in pipelines.items():
        for stage, seen in stages.items():
            queries = seen.get("queries") or 0
            table.add_row(
                Text(name),
                Text(stage),
                Text("\n".join(_served_by(seen.get("variants", {}))) or "-"),
                cell(seen.get("workers")),
                cell(seen.get("queued")),
                f"{seen['jobs'] / queries:.1f}" if queries else "-",
                *(cell((seen.get(key) or {}).get("p95")) for key in ("queue_ms", "run_ms", "latency_ms")),
            )
    return [table]


def _served_by(variants: dict[str, int]) -> list[str]:
    """Variants with their share of the queries, the most used first."""
    total = sum(variants.values())
    return [f"{name} {100 * count / total:.0f}%" for name, count in variants.items()]
