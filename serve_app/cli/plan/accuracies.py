"""Accuracies that plans reckon with, and where they come from, as a table."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from serve_app.cli.cells import origin, percent


def render_accuracies(accuracies: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """The variants by task, the most accurate first; nothing where nothing is known."""
    if not accuracies:
        return []
    table = Table("task", "variant", title="Accuracy of variants", title_justify="left")
    for heading in ("accuracy", "source", "examples"):
        table.add_column(heading, justify="right")
    for name, each in sorted(accuracies.items(), key=lambda item: (item[1]["task"], -item[1]["accuracy"])):
        examples = (each.get("measured") or {}).get("examples")
        cells = (percent(each["accuracy"], 2), origin(each), "-" if examples is None else str(examples))
        table.add_row(Text(str(each["task"])), Text(name), *cells)
    return [table]
