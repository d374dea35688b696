"""The figures of one set of votes, beside what they are to be."""

from typing import Any

import numpy as np

from benchmarks.ensemble.statistics import interval, mcnemar, ties
from benchmarks.ensemble.systems import Run, Systems

ABOVE_SINGLE = 1.5
"""Points that the dynamic ensemble is to be better by than the best single variant."""
BELOW_FULL = 0.3
"""Points that it may lose against all members."""
FEWER_MEMBERS_PCT = 40.0


def report(systems: Systems) -> dict[str, Any]:
    """Every system, ties, tests and goals, in JSON values."""
    runs = {
        "best_single": systems.best_single(),
        "best_single_by_dev": systems.best_single_by_dev(),
        "full_plain": systems.full_plain(),
        "full_accuracy_weighted": systems.full_accuracy_weighted(),
        "full_class_accuracy": systems.full_class_accuracy(),
        "full_weighted": systems.full_weighted(),
        "dynamic": systems.dynamic(),
        "dynamic_worst_case": systems.dynamic(longest=1.0),
        "intervals": systems.intervals(),
    }
    goals = _goals(runs, systems)
    return {
        "members": len(systems.test.members),
        "classes": systems.test.classes,
        "rows": {"dev": systems.dev.rows, "test": systems.test.rows},
        "slowest_single_ms": systems.slowest_ms,
        **{name: _figures(run) for name, run in runs.items()},
        "single": {name: 100.0 * accuracy for name, accuracy in systems.test.accuracies.items()},
        "ties": ties(systems),
        "mcnemar_dynamic_against_best_single": mcnemar(runs["dynamic"], runs["best_single"]),
        "mcnemar_dynamic_against_best_single_by_dev": mcnemar(runs["dynamic"], runs["best_single_by_dev"]),
        "goals": goals,
        "goals_met": all(goal["met"] for goal in goals.values()),
    }


def _figures(run: Run) -> dict[str, Any]:
    p50, p95, worst = np.percentile(run.latency_ms, [50, 95, 100])
    return {
        "accuracy": 100.0 * run.accuracy,
        "accuracy_ci95": interval(run.accuracy, len(run.right)),
        "mean_members": float(run.members.mean()),
        "latency_ms": float(run.latency_ms.mean()),
        "latency_p50_ms": float(p50),
        "latency_p95_ms": float(p95),
        "latency_worst_ms": float(worst),
        "what": run.what,
    }


def _goals(runs: dict[str, Run], systems: Systems) -> dict[str, dict[str, Any]]:
    dynamic, full = runs["dynamic"], runs["full_weighted"]
    best_full = max(full.accuracy, runs["full_plain"].accuracy)
    fewer_pct = 100.0 * (1.0 - float(dynamic.members.mean()) / len(systems.test.members))
    figures = {
        "points_above_best_single": (100.0 * (dynamic.accuracy - runs["best_single"].accuracy), ABOVE_SINGLE, True),
        "points_below_full": (100.0 * (best_full - dynamic.accuracy), BELOW_FULL, False),
        "fewer_members_pct": (fewer_pct, FEWER_MEMBERS_PCT, True),
        "latency_over_slowest_single": (float(dynamic.latency_ms.mean()) / systems.slowest_ms, 1.0, False),
    }
    return {
        name: {"value": value, "goal": goal, "met": bool(value >= goal if at_least else value <= goal + 1e-9)}
        for name, (value, goal, at_least) in figures.items()
    }
