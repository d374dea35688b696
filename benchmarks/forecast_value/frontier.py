"""What a policy violates, by what it spends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.forecast_value.parts import KINDS, Choice
from benchmarks.forecast_value.play import Outcome, worker_s

ALL = "all"
"""All hours of the span: each part counts as many times as there are hours of its kind to one that was played."""

HALVINGS = 12
MOST_HEADROOM = 20.0


@dataclass(frozen=True)
class Point:
    """Of a policy in the parts of one kind: how many of the queries it violated, and the mean number of its workers."""

    violations_pct: float
    workers: float

    @classmethod
    def of(cls, choice: Choice, outcomes: Sequence[Outcome], kind: str) -> "Point":
        """``outcomes`` are of the parts, in their order."""
        chosen = [(p, o) for p, o in zip(choice.parts, outcomes, strict=True) if kind in (p.kind, ALL)]
        weights = np.array([choice.weight(part.kind) for part, _ in chosen])
        violated = weights @ np.array([outcome.violations for _, outcome in chosen])
        queries = weights @ np.array([outcome.queries for _, outcome in chosen])
        hours_s = 3600.0 * weights.sum()
        workers = weights @ np.array([outcome.worker_s for _, outcome in chosen]) / hours_s
        return cls(float(100 * violated / queries), float(workers))


def kinds_of(choice: Choice) -> list[str]:
    """What figures are given for."""
    return [ALL, *(kind for kind in KINDS if choice.weight(kind))]


def headroom_for(choice: Choice, demands: Sequence[Sequence[float]], workers: float, most_workers: int) -> float:
    """The headroom at which a policy with these demands, by part, has so many workers in the mean of all hours."""
    low, high = 0.0, MOST_HEADROOM
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_workers(choice, demands, middle, most_workers) < workers else (low, middle)
    return (low + high) / 2


def mean_workers(choice: Choice, demands: Sequence[Sequence[float]], headroom: float, most_workers: int) -> float:
    """How many workers there are in the mean of all hours."""
    weights = np.array([choice.weight(part.kind) for part in choice.parts])
    seconds = np.array([worker_s(own, headroom, most_workers) for own in demands])
    return float(weights @ seconds / (3600.0 * weights.sum()))


def violations_at(points: Sequence[Point], workers: float) -> float:
    """Of a policy at so many workers, in percent, by the straight lines between its points.

    More workers never count as worse, and beyond its points it is as at the nearest.
    """
    ordered = sorted(points, key=lambda point: point.workers)
    lowest = np.minimum.accumulate([point.violations_pct for point in ordered])
    return float(np.interp(workers, [point.workers for point in ordered], lowest))


def gains(
    points: Mapping[str, Sequence[Point]], number: int, reactive: str, oracle: str
) -> dict[str, dict[str, float | None]]:
    """Every policy's point of that number beside the reactive planner and the oracle at the same number of workers."""
    figures: dict[str, dict[str, float | None]] = {}
    for name, own in points.items():
        point = own[number]
        theirs, best = (violations_at(points[other], point.workers) for other in (reactive, oracle))
        figures[name] = {
            "violations_pct": point.violations_pct,
            "workers": point.workers,
            "reactive_violations_pct": theirs,
            "oracle_violations_pct": best,
            "fewer_violations_than_reactive": theirs / point.violations_pct if point.violations_pct else None,
            "share_of_oracle_gain": (theirs - point.violations_pct) / (theirs - best) if theirs > best else None,
        }
    return figures
