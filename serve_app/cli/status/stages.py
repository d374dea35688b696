"""The stages of pipelines in the answer of ``GET /accord/status``, as tables of at most 80 columns."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from serve_app.cli.cells import cell


def render_stages(endpoints: dict[str, Any]) -> list[Table]:
    """A table for each pipeline, with a row for each stage in its order; nothing without pipelines."""
    pipelines = {name: endpoint.get("stages") or {} for name, endpoint in endpoints.items()}
    return [_table(name, stages) for name, stages in pipelines.items() if stages]


def _table(endpoint: str, stages: dict[str, Any]) -> Table:
    table = Table(
        Column("stage", overflow="fold"),
        Column("served by", overflow="fold"),
        title=f"Stages of {endpoint}",
        title_justify="left",
    )
    for heading in ("workers", "queued", "jobs", "queue", "run", "in all"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.caption = "jobs: of a query; queue, run, in all: p95 over the last minute in ms"
    for stage, seen in stages.items():
        queries = seen.get("queries") or 0
        table.add_row(
            Text(stage),
            Text("\n".join(_served_by(seen.get("variants", {}))) or "-"),
            cell(seen.get("workers")),
            cell(seen.get("queued")),
            f"{seen['jobs'] / queries:.1f}" if queries else "-",
            *(cell((seen.get(key) or {}).get("p95")) for key in ("queue_ms", "run_ms", "latency_ms")),
        )
    return table


def _served_by(variants: dict[str, int]) -> list[str]:
    """Variants with their share of the queries, the most used first."""
    total = sum(variants.values())
    return [f"{name} {100 * count / total:.0f}%" for name, count in variants.items()]
