"""Accuracies that plans reckon with, in ``accord plan show``."""

from io import StringIO

from rich.console import Console

from serve_app.cli.plan.accuracies import render_accuracies


def test_every_variant_says_where_its_accuracy_comes_from_the_most_accurate_first() -> None:
    measured = {"metric": "accuracy", "low": 0.92, "high": 0.95, "examples": 900}
    body = {
        "small": {"task": "t", "accuracy": 0.8, "accuracy_source": "declared", "measured": None},
        "large": {"task": "t", "accuracy": 0.94, "accuracy_source": "measured", "measured": measured},
    }
    out = StringIO()
    console = Console(file=out, width=80)
    for table in render_accuracies(body):
        console.print(table)
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines() if "│" in line]
    assert lines == [
        "│ t │ large │ 94.00% │ measured ±1.5 │ 900 │",
        "│ t │ small │ 80.00% │ declared │ - │",
    ]


def test_nothing_is_shown_of_a_server_that_does_not_say() -> None:
    assert render_accuracies({}) == []
