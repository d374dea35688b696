"""What a plan says of the stages of pipelines, as a table."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from autoscaler.cluster.plan import ClusterPlan
from serve_app.cli.cells import cell


def render_stages(plan: ClusterPlan, slo_ms: Mapping[str, float]) -> list[Table]:
    """One row a stage with what the plan reckons with, and the sum of each pipeline; nothing without pipelines."""
    pipelines = {name: stages for name, stages in plan.stages.items() if any(stages)}
    if not pipelines:
        return []
    table = Table("endpoint", "stage", "variant", title="Stages", title_justify="left")
    for heading in ("batch", "workers", "cost", "jobs/s", "wait ms", "run ms", "behind ms"):
        table.add_column(heading, justify="right")
    table.caption = (
        "run: longest batch with its way to the worker; wait: longest wait for a batch to fill; behind: what the plan "
        "reckons with for the stages behind"
    )
    for name, stages in pipelines.items():
        for stage, choice in stages.items():
            table.add_row(
                Text(name),
                Text(stage),
                Text("\n".join(choice.variants)),
                "\n".join(map(str, choice.variants.values())),
                str(choice.workers),
                f"{choice.cost:g}",
                cell(choice.load_qps),
                *(f"{1e3 * s:.1f}" for s in (choice.wait_s, choice.run_s, choice.after_s)),
            )
        cost = sum(choice.cost for choice in stages.values())
        workers = sum(choice.workers for choice in stages.values())
        longest_ms = max(1e3 * (c.wait_s + c.run_s + c.after_s) for c in stages.values())
        of = f" of {slo_ms[name]:g} ms" if name in slo_ms else ""
        table.add_section()
        table.add_row(Text(name), "all", f"{longest_ms:.1f}{of} at most", "", str(workers), f"{cost:g}")
        table.add_section()
    return [table]
