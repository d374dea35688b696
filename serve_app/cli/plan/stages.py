"""What a plan says of the stages of pipelines, as tables of at most 80 columns."""

from collections.abc import Mapping

from rich.table import Column, Table
from rich.text import Text

from autoscaler.cluster.plan import ClusterPlan, StageChoice
from serve_app.cli.cells import cell


def render_stages(plan: ClusterPlan, slo_ms: Mapping[str, float]) -> list[Table]:
    """A table for each pipeline, with a row for each stage of what the plan reckons with; nothing without pipelines."""
    pipelines = {name: stages for name, stages in plan.stages.items() if any(stages)}
    return [_table(name, stages, slo_ms.get(name)) for name, stages in pipelines.items()]


def _table(endpoint: str, stages: Mapping[str, StageChoice], slo_ms: float | None) -> Table:
    table = Table(
        Column("stage", overflow="fold"),
        Column("variant", overflow="fold"),
        title=f"Stages of {endpoint}",
        title_justify="left",
    )
    for heading in ("batch", "workers", "jobs/s", "wait", "run", "behind"):
        table.add_column(heading, justify="right", no_wrap=True)
    for stage, choice in stages.items():
        table.add_row(
            Text(stage),
            Text("\n".join(choice.variants)),
            "\n".join(map(str, choice.variants.values())),
            str(choice.workers),
            cell(choice.load_qps),
            *(f"{1e3 * s:.1f}" for s in (choice.wait_s, choice.run_s, choice.after_s)),
        )
    longest_ms = max(1e3 * (c.wait_s + c.run_s + c.after_s) for c in stages.values())
    of = "" if slo_ms is None else f" of {slo_ms:g} ms"
    workers = sum(choice.workers for choice in stages.values())
    cost = sum(choice.cost for choice in stages.values())
    paid = f", cost {cost:g}" if cost else ""  # workers of pools of a fixed size cost nothing more
    table.caption = (
        f"{longest_ms:.1f}{of} at most, {workers} workers{paid}. In ms: the longest wait for a batch to fill, "
        "its run with the way to the worker, and the stages behind"
    )
    return table
