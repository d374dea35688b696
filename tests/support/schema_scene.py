"""Arguments of an application that a config test changes."""

from typing import Any


def config(**changes: Any) -> dict[str, Any]:
    return {
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100}},
        "pools": {"cpu": {"workers": 2}},
    } | changes


TABLES = {"task": "digits", "slo_ms": 100, "selection": {"policy": "ramsis", "formulation": "per_query"}}
