"""Live accuracies in ``accord status``."""

from io import StringIO
from typing import Any

from rich.console import Console

from serve_app.cli.status.tables import render_status


def shown(endpoint: dict[str, Any]) -> str:
    out = StringIO()
    Console(file=out, width=80).print(render_status({"endpoints": {"digits": endpoint}}))
    return " ".join(out.getvalue().split())


def variant(**changes: Any) -> dict[str, Any]:
    known = {"accuracy": 0.93, "low": 0.9, "high": 0.95, "expected_accuracy": 0.94, "seen": 300, "drifted": False}
    return known | changes


def test_live_estimates_stand_beside_what_labels_say_and_alerts_below() -> None:
    variants = {"fast": variant(), "ill": variant(accuracy=0.1, low=0.05, high=0.15, seen=9, drifted=True)}
    shadow = {"reference": "slow", "compared": 309, "dropped": 4, "variants": variants, "alerts": ["ill is broken"]}
    text = shown({"shadow": shadow, "ground_truth": {"members": {"fast": {"labelled": 50, "right": 46}}}})
    assert "Live accuracy" in text
    assert "92.0% of 50" in text
    assert "309 answers compared with slow" in text
    assert "digits: ill is broken" in text
    for figure in ("93.0%", "90.0%", "95.0%", "10.0%"):
        assert figure in text


def test_nothing_is_shown_of_endpoints_that_compare_nothing() -> None:
    assert "Live accuracy" not in shown({"shadow": None})


def test_variants_say_where_their_accuracy_comes_from() -> None:
    measured = {"metric": "accuracy", "low": 0.92, "high": 0.94, "examples": 900}
    variants = {
        "fast": {"expected_accuracy": 0.93, "accuracy_source": "measured", "measured": measured},
        "slow": {"expected_accuracy": 0.97, "accuracy_source": "declared", "measured": None},
    }
    text = shown({"variants": variants})
    assert "measured ±1.0" in text
    assert "declared" in text


def test_labels_that_contradict_an_accuracy_are_shown_where_nothing_is_compared() -> None:
    text = shown({"ground_truth": {"labelled": 9, "members": {}, "alerts": ["labels say otherwise"]}})
    assert "digits: labels say otherwise" in text
