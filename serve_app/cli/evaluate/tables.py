"""An evaluation as a table."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from serve_app.cli.cells import percent
from serve_app.cli.evaluate.figures import Evaluated


def render(found: Evaluated, failed: Mapping[str, str], wrote: Mapping[str, str]) -> RenderableType:
    """Every variant, the most accurate first; then what was left out, and what was written."""
    table = Table(
        Column("variant", overflow="fold"),
        title=f"{found.metric} of task {found.task} on {len(found.labels)} examples of {found.data}",
        title_justify="left",
    )
    for heading in (found.metric, "95% interval", "a row, ms", "worst class"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, each in found.variants.items():
        score = each.score
        interval = f"{percent(score.low)} to {percent(score.high)}"
        table.add_row(
            Text(name), percent(score.value, 2), interval, f"{each.latency_ms:.3f}", Text(_worst(found, name))
        )
    lines = [Text(f"{name} is left out: {why}", style="red") for name, why in failed.items()]
    return Group(table, *lines, *(Text(f"{what}: {path}") for what, path in wrote.items()))


def _worst(found: Evaluated, variant: str) -> str:
    """The class that it recognises the least, of those that occur."""
    recalls = {name: each["recall"] for name, each in found.classes(variant).items() if each["examples"]}
    if not recalls:
        return "-"
    name = min(recalls, key=recalls.__getitem__)
    return f"{name} {percent(recalls[name])}"
