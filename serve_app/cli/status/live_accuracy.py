"""Live accuracies in the answer of ``GET /accord/status``, as a table of at most 80 columns."""

from typing import Any

from rich.table import Column, Table
from rich.text import Text

from serve_app.cli.cells import cell, percent


def render_live_accuracy(endpoints: dict[str, Any]) -> list[Table | Text]:
    """What agreement with the reference says of each variant, beside labels, and where either contradicts what was
    expected; nothing where nothing is compared or contradicted."""
    known = {name: endpoint["shadow"] for name, endpoint in endpoints.items() if endpoint.get("shadow")}
    told = [
        Text(f"{name}: {alert}", style="red")
        for name, endpoint in endpoints.items()
        for alert in (endpoint.get("ground_truth") or {}).get("alerts", [])
    ]
    if not known:
        return [*told]
    table = Table(
        Column("endpoint", overflow="fold"),
        Column("variant", overflow="fold"),
        title="Live accuracy",
        title_justify="left",
    )
    for heading in ("expected", "live", "95% interval", "rows", "labels"):
        table.add_column(heading, justify="right")
    lines = []
    for name, shadow in known.items():
        reference, dropped = shadow.get("reference"), shadow.get("dropped", 0)
        lines.append(
            f"{name}: {shadow['compared']} answers compared with {reference}, {dropped} not for want of capacity"
            if reference
            else f"{name}: nothing is compared while workers hold one variant only"
        )
        members = (endpoints[name].get("ground_truth") or {}).get("members", {})
        for variant, each in shadow["variants"].items():
            interval = "-" if each["low"] is None else f"{percent(each['low'])} to {percent(each['high'])}"
            style = "red" if each["drifted"] else ""
            live = (percent(each["accuracy"]), interval, cell(each["seen"]))
            figures = (percent(each["expected_accuracy"]), *live, _labels(members.get(variant, {})))
            table.add_row(Text(name), Text(variant, style=style), *(Text(figure, style=style) for figure in figures))
    table.caption = "; ".join(lines)
    alerts = [Text(f"{name}: {alert}", style="red") for name, each in known.items() for alert in each["alerts"]]
    return [table, *alerts, *told]


def _labels(member: dict[str, Any]) -> str:
    """The share of labelled answers that were right, and of how many."""
    labelled = member.get("labelled", 0)
    return f"{percent(member['right'] / labelled)} of {labelled}" if labelled else "-"
