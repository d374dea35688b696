"""What is promised of a live service with many workers."""

from collections.abc import Sequence
from typing import Any

from benchmarks.live_ramsis.figures import Row
from benchmarks.live_ramsis.scene import BASELINES

ORDINARY = 0.85
"""Up to this share of the capacity differences are to be small ..."""

ACCURACY_POINTS, ACCURACY_POINTS_BEYOND = 0.5, 1.0
VIOLATION_POINTS, VIOLATION_POINTS_BEYOND = 1.0, 2.0
"""... and twice as large, beyond."""

MOST_VIOLATIONS_PCT = 5.0
"""Accuracies are compared where both violate no more, as in the paper (section 7.1)."""

ROUNDING = 0.05


def goals_of(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """By name: whether it is met, and what it is about. A goal about cases that were not played is left out."""
    found: dict[str, dict[str, Any]] = {}
    ordinary = [row for row in rows if row.share <= ORDINARY]
    beyond = [row for row in rows if row.share > ORDINARY]
    if ordinary:
        found["live_is_simulated_up_to_85_pct"] = _agree(ordinary, ACCURACY_POINTS, VIOLATION_POINTS)
    if beyond:
        found["live_is_simulated_beyond"] = _agree(beyond, ACCURACY_POINTS_BEYOND, VIOLATION_POINTS_BEYOND)
    broken = [f"{_name(row)}: {', '.join(row.broken)}" for row in rows if row.broken]
    found["no_promise_broken"] = {"met": not broken, "broken": broken}
    for baseline in BASELINES:
        if pairs := _pairs(rows, baseline):
            found[f"accord_above_{baseline}"] = _above(pairs)
    return found


def _agree(rows: Sequence[Row], accuracy_points: float, violation_points: float) -> dict[str, Any]:
    accuracy = max((abs(row.accuracy_difference or 0.0) for row in rows), default=0.0)
    violations = max((abs(row.violation_difference) for row in rows), default=0.0)
    apart = [
        _name(row)
        for row in rows
        if (row.accuracy_difference is None and (row.live.accuracy_pct is None) != (row.simulated.accuracy_pct is None))
        or abs(row.accuracy_difference or 0.0) > accuracy_points
        or abs(row.violation_difference) > violation_points
    ]
    return {
        "met": not apart,
        "accuracy_points": accuracy,
        "wanted_accuracy_points": accuracy_points,
        "violation_points": violations,
        "wanted_violation_points": violation_points,
        "apart": apart,
    }


def _pairs(rows: Sequence[Row], baseline: str) -> list[tuple[Row, Row]]:
    """Accord beside a baseline, in the cases in which neither violates much, live or simulated."""
    theirs = {(row.trace, row.share): row for row in rows if row.system == baseline}
    both = [
        (row, theirs[row.trace, row.share])
        for row in rows
        if row.system == "accord" and (row.trace, row.share) in theirs
    ]
    return [pair for pair in both if all(_ordinary(row) for row in pair)]


def _ordinary(row: Row) -> bool:
    outcomes = (row.live, row.simulated)
    return all(each.violation_pct <= MOST_VIOLATIONS_PCT and each.accuracy_pct is not None for each in outcomes)


def _above(pairs: Sequence[tuple[Row, Row]]) -> dict[str, Any]:
    live = [(ours.live.accuracy_pct or 0.0) - (theirs.live.accuracy_pct or 0.0) for ours, theirs in pairs]
    simulated = [
        (ours.simulated.accuracy_pct or 0.0) - (theirs.simulated.accuracy_pct or 0.0) for ours, theirs in pairs
    ]
    turned = [
        _name(ours)
        for (ours, _), here, there in zip(pairs, live, simulated, strict=True)
        if there >= 0.0 and here < -ROUNDING
    ]
    mean = sum(live) / len(live)
    return {
        "met": mean > 0.0 and not turned,
        "cases": len(pairs),
        "live_points": mean,
        "live_points_at_least": min(live),
        "live_points_at_most": max(live),
        "simulated_points": sum(simulated) / len(simulated),
        "turned": turned,
    }


def _name(row: Row) -> str:
    return f"{row.system}, {row.trace} at {row.share:.0%}"
