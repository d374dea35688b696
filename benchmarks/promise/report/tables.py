"""The results as tables for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def print_tables(console: Console, body: Mapping[str, Any]) -> None:
    """Whatever parts a run measured."""
    if "cases" in body:
        console.print(_cases(body["cases"], body["highest"]))
        console.print(_goals(body["goals"]))
    if "starts" in body:
        columns = ("ready_s", "in_force_s", "all_made_s", "made")
        rows = [[name, *(_cell(start[column], 1) for column in columns)] for name, start in body["starts"].items()]
        console.print(_table("Starts with an empty cache", ("service", *columns), rows))
    if "table" in body:
        fields = ("load_qps", "policy", "violations_client_pct", "violations_server_pct", "accuracy_pct")
        rows = [[_cell(row[field], 2) for field in fields] for row in body["table"]]
        console.print(_table("accord load on the quickstart", fields, rows))


def _cases(cases: Sequence[Mapping[str, Any]], highest: Mapping[str, Any]) -> Table:
    headings = ("condition", "load/s", "policy", "late %", "client %", "accuracy", "p99 ms", "again s", "machine")
    rows = [
        [
            case["condition"],
            _cell(case["load_qps"], 0),
            case["policy"],
            _cell(case["judged"]["violations_server_pct"], 2),
            _cell(case["judged"]["violations_client_pct"], 2),
            _cell(case["judged"]["variant_accuracy_pct"], 2),
            _cell(case["judged"]["p99_ms"], 0),
            _cell(case["kept_again_s"], 0),
            _cell(case["machine_speed"], 2),
        ]
        for case in cases
    ]
    loads = ", ".join(f"{each['load_qps']:.0f}/s on {cores.replace('_', ' ')}" for cores, each in highest.items())
    return _table(f"From five seconds after a change; the highest load was {loads} when it was found", headings, rows)


def _goals(goals: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [
        [name, _cell(goal["value"], 3), _cell(goal["goal"], 2), "yes" if goal["met"] else "NO"]
        for name, goal in goals.items()
    ]
    return _table("Goals", ("figure", "measured", "goal", "met"), rows)


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(
            heading, justify="left" if heading in ("condition", "policy", "service", "figure") else "right"
        )
    for row in rows:
        table.add_row(*row)
    return table


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return "-" if value is None else str(value)
