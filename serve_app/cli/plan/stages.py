"""What a plan says of the stages of pipelines, as a table."""

from collections.abc import Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from autoscaler.cluster.plan import ClusterPlan, StageChoice
from serve_app.cli.cells import cell


def render_stages(plan: ClusterPlan, slo_ms: Mapping[str, float]) -> list[RenderableType]:
    """One row a stage with what the plan reckons with, and a line for each pipeline; nothing without pipelines."""
    pipelines = {name: stages for name, stages in plan.stages.items() if any(stages)}
    if not pipelines:
        return []
    table = Table("endpoint", "stage", "variant", title="Stages", title_justify="left")
    for heading in ("batch", "workers", "jobs/s", "wait", "run", "behind"):
        table.add_column(heading, justify="right")
    table.caption = (
        "in ms: the longest wait for a batch to fill, the longest batch with its way to the worker, the stages behind"
    )
    sums = []
    for name, stages in pipelines.items():
        for stage, choice in stages.items():
            table.add_row(
                Text(name),
                Text(stage),
                Text("\n".join(choice.variants)),
                "\n".join(map(str, choice.variants.values())),
                str(choice.workers),
                cell(choice.load_qps),
                *(f"{1e3 * s:.1f}" for s in (choice.wait_s, choice.run_s, choice.after_s)),
            )
        sums.append(Text(_sum(name, stages, slo_ms.get(name))))
    return [table, *sums]


def _sum(name: str, stages: Mapping[str, StageChoice], slo_ms: float | None) -> str:
    """What the longest path takes at most, and what the stages cost in all."""
    longest_ms = max(1e3 * (c.wait_s + c.run_s + c.after_s) for c in stages.values())
    of = "" if slo_ms is None else f" of {slo_ms:g} ms"
    workers = sum(choice.workers for choice in stages.values())
    cost = sum(choice.cost for choice in stages.values())
    return f"{name}: {longest_ms:.1f}{of} at most, {workers} workers, cost {cost:g}"
