"""What is promised under overload."""

from collections.abc import Mapping
from typing import Any

GROWTH_MB = 150.0
"""Of router and proxy together, over the overload; unbounded queues grow by more in a minute."""

NO_DIFFERENCE_POINTS = 2.0
"""Of queries in time, in the median over turns."""


def goals_of(scene: Mapping[str, Any]) -> dict[str, bool]:
    """By name, whether it is met; ``scene`` is one of the report's."""
    load = scene["overload"]
    memory = scene["memory_mb"]
    answers = load["answers"]
    carried_qps = (scene["best_qps"] + scene["best_again_qps"]) / 2
    return {
        "five times the best load was offered": load["offered_qps"] >= 4.9 * scene["best_qps"],
        "95% of what is accepted is in time": (load["accepted_in_time_pct"] or 0.0) >= 95.0,
        "goodput is 90% of the best": load["goodput_qps"] >= 0.9 * carried_qps,
        "refusals come within 50 ms": load["refused_ms"] is not None and load["refused_ms"]["p99"] <= 50.0,
        "every query is answered, and never with 500": answers.keys() <= {"200", "429", "503", "504"},
        "memory is bounded": sum(memory["highest"].values()) - sum(memory["before"].values()) <= GROWTH_MB,
        "normal service within 5 s": scene["recovered_s"] is not None and scene["recovered_s"] <= 5.0,
        "clients that leave cost the others nothing": scene["half"]["lost_points"] <= NO_DIFFERENCE_POINTS,
    }
