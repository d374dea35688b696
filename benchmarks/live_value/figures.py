"""What each system made of the load, and who is ahead."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from serve_app.testing.queries import Queries

ACCORD = "accord"
SECOND = "second_best_beyond_"
"""Begins the names of rules whose small model is the most accurate one that is fast enough."""

BORNE_PCT = 1.0
"""Violations at which accuracies are compared."""

POINTS = 1.0
PART = 0.5
ALIKE_POINTS = 0.05


@dataclass(frozen=True)
class Figures:
    """Of one load, in percent: ``accuracy_pct`` by the labels of the queries that were answered in time, None where
    none was; ``violation_pct`` of all queries, by the client's clock."""

    accuracy_pct: float | None
    violation_pct: float
    failed_pct: float
    p99_ms: float | None
    lag_p99_ms: float
    queries: int
    variants_pct: Mapping[str, float]

    @classmethod
    def of(cls, queries: Queries, slo_ms: float) -> "Figures":
        """An answer that is late or an error violates."""
        violated = queries.violated_at_client(slo_ms)
        in_time, answered = ~violated, ~queries.failed
        names, counts = np.unique(queries.variant[answered], return_counts=True)
        return cls(
            100.0 * float(np.mean(queries.correct[in_time])) if in_time.any() else None,
            100.0 * float(violated.mean()),
            100.0 * float(queries.failed.mean()),
            float(np.percentile(queries.latency_ms[answered], 99)) if answered.any() else None,
            float(np.percentile(queries.lag_ms, 99)),
            len(queries),
            {str(name): 100.0 * int(count) / int(answered.sum()) for name, count in zip(names, counts, strict=True)},
        )


@dataclass(frozen=True)
class Medians:
    """A system over all rounds."""

    accuracy_pct: float
    violation_pct: float

    @classmethod
    def of(cls, rounds: Sequence[Figures]) -> "Medians":
        """A round without an answer in time has accuracy 0."""
        return cls(
            statistics.median(each.accuracy_pct or 0.0 for each in rounds),
            statistics.median(each.violation_pct for each in rounds),
        )


def goals_of(medians: Mapping[str, Medians]) -> dict[str, dict[str, Any]]:
    """Accord beside the rules; only one of both is to be met, and `goals_met` says whether that is so.

    ``at_one_percent``: where rules violate `BORNE_PCT` at most, Accord does too, with `POINTS` more accuracy than the
    most accurate of them. ``at_equal_accuracy``: of the rules that are as accurate as Accord or more, the one with the
    fewest violations has some, and twice as many or more: where none is late anyway, nobody is ahead. Met as well
    where no rule is as accurate and none violates less.
    """
    ours = medians[ACCORD]
    rules = {name: each for name, each in medians.items() if name != ACCORD}
    borne = {name: each for name, each in rules.items() if each.violation_pct <= BORNE_PCT}
    best = max(borne, key=lambda name: borne[name].accuracy_pct, default=None)
    alike = {name: each for name, each in rules.items() if each.accuracy_pct >= ours.accuracy_pct - ALIKE_POINTS}
    least = min(alike, key=lambda name: alike[name].violation_pct, default=None)
    ahead = None if best is None else ours.accuracy_pct - borne[best].accuracy_pct
    if least is None:
        fewer = all(each.violation_pct >= ours.violation_pct for each in rules.values())
    else:
        fewer = alike[least].violation_pct > 0.0 and ours.violation_pct <= PART * alike[least].violation_pct
    return {
        "at_one_percent": {
            "met": ours.violation_pct <= BORNE_PCT and (ahead is None or ahead >= POINTS),
            "best_rule": best,
            "points": ahead,
            "wanted_points": POINTS,
        },
        "at_equal_accuracy": {
            "met": fewer,
            "best_rule": least,
            "violation_pct": None if least is None else alike[least].violation_pct,
            "wanted_pct": None if least is None else PART * alike[least].violation_pct,
        },
    }


def goals_met(goals: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether one of both is met."""
    return any(bool(goal["met"]) for goal in goals.values())
