"""What the decisions of GET /accord/plans say of a stretch of time. Instants are seconds since the epoch."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

Decision = Mapping[str, Any]

COVERS = 0.9
"""A plan covers a load if it has room for this much of it on every endpoint."""

AFTERMATH_S = 0.5
"""So long after a switch queries may still wait because of it."""


def epoch_s(iso: str) -> float:
    """An instant as decisions have it."""
    return datetime.fromisoformat(iso).timestamp()


def made_true(decisions: Sequence[Decision]) -> list[Decision]:
    """Those that came into force, in that order."""
    in_force = [each for each in decisions if each["in_force_at"] is not None]
    return sorted(in_force, key=lambda each: epoch_s(each["in_force_at"]))


def covers(decision: Decision, load_qps: Mapping[str, float]) -> bool:
    """Whether its plan has room for the load."""
    capacity_qps = decision["plan"]["capacity_qps"]
    return all(capacity_qps.get(name, 0.0) >= COVERS * qps for name, qps in load_qps.items())


def plan_in_force_s(decisions: Sequence[Decision], step_at_s: float, load_qps: Mapping[str, float]) -> float | None:
    """From a step in load to the first plan on all workers that was asked for after it and covers the new load.

    None where there is no such plan.
    """
    after = [each for each in made_true(decisions) if epoch_s(each["asked_at"]) > step_at_s and covers(each, load_qps)]
    return epoch_s(after[0]["in_force_at"]) - step_at_s if after else None


def covered_before(decisions: Sequence[Decision], step_at_s: float, load_qps: Mapping[str, float]) -> bool:
    """Whether the plan in force at the step had room for the new load: then none has to follow."""
    before = [each for each in made_true(decisions) if epoch_s(each["in_force_at"]) <= step_at_s]
    return bool(before) and covers(before[-1], load_qps)


def in_brief(decisions: Sequence[Decision], start_s: float, end_s: float) -> list[dict[str, Any]]:
    """The plans asked for in that time: version, why, when, how long each took, and what it was for."""
    return [
        {
            "version": each["version"],
            "asked_s": epoch_s(each["asked_at"]) - start_s,
            "reason": each["reason"],
            "state": each["state"],
            "in_force_s": each["in_force_s"],
            "demand_qps": sum(each["demand_qps"].values()),
            "capacity_qps": None if each["plan"] is None else sum(each["plan"]["capacity_qps"].values()),
            "held": None if each["plan"] is None else sorted("+".join(held) for held in each["plan"]["held"].values()),
        }
        for each in decisions
        if start_s <= epoch_s(each["asked_at"]) < end_s
    ]


def switches(decisions: Sequence[Decision], start_s: float, end_s: float) -> list[tuple[float, float]]:
    """For each plan of that time that gave workers other variants: from the question to `AFTERMATH_S` after the end."""
    ordered = made_true(decisions)
    return [
        (epoch_s(after["asked_at"]), epoch_s(after["in_force_at"]) + AFTERMATH_S)
        for before, after in pairwise(ordered)
        if start_s <= epoch_s(after["asked_at"]) < end_s and after["plan"]["held"] != before["plan"]["held"]
    ]
