"""Predicted and measured slowdowns of workers, as people read them."""

from typing import Any

from rich.console import Console

from serve_app.cli.status.slowdowns import render_slowdowns


def shown(workers: dict[str, Any]) -> str:
    console = Console(width=80)
    with console.capture() as captured:
        for table in render_slowdowns(workers):
            console.print(table)
    return " ".join(captured.get().split())


def test_predicted_stands_beside_measured_and_what_that_rests_on() -> None:
    text = shown(
        {
            "w1": {"slowdowns": {"fast": {"predicted": 1.5, "measured": 1.42, "batches": 81.6}}},
            "w2": {"slowdowns": {"slow": {"predicted": 1.1, "measured": None, "batches": 0.0}}},
            "alone": {"slowdowns": {}},
        }
    )
    assert "│ w1 │ fast │ 1.50 │ 1.42 │ 82 │" in text
    assert "│ w2 │ slow │ 1.10 │ - │ 0 │" in text
    assert "alone" not in text


def test_without_predictions_there_is_no_table() -> None:
    assert render_slowdowns({"w1": {"slowdowns": {}}, "older": {}}) == []
