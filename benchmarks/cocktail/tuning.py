"""At which headroom a system is compared: the least that keeps its promise in other hours than the reported ones."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from benchmarks.cocktail.figures import Figures

HEADROOMS = (0.4, 1.0, 2.5)
"""The ends and the middle of every frontier."""

HALVINGS = 3
"""Of the step between the highest of these that is too little and the next, on a logarithmic scale."""


@dataclass(frozen=True)
class Point:
    """One setting of a system, and what came of it."""

    headroom: float
    figures: Figures


@dataclass(frozen=True)
class Tuned:
    """The frontier of a system, by headroom, and the place on it at which it is compared."""

    frontier: tuple[Point, ...]
    headroom: float
    kept: bool

    @property
    def figures(self) -> Figures:
        """At that place."""
        return next(point.figures for point in self.frontier if point.headroom == self.headroom)


def tune(run: Callable[[float], Figures], keeps: Callable[[Figures], bool]) -> Tuned:
    """Play every headroom of `HEADROOMS`, and some between; of those that keep the promise, the cheapest is taken.

    Where none does, the highest.
    """
    points = {headroom: run(headroom) for headroom in HEADROOMS}
    for _ in range(HALVINGS):
        kept = [headroom for headroom, figures in points.items() if keeps(figures)]
        if not kept or min(kept) == min(points):
            break
        high = min(kept)
        low = max(headroom for headroom in points if headroom < high)
        middle = sqrt(low * high)
        points[middle] = run(middle)
    kept = [headroom for headroom, figures in points.items() if keeps(figures)]
    chosen = min(kept, key=lambda each: (points[each].dollars_per_h, each)) if kept else max(points)
    frontier = tuple(Point(headroom, points[headroom]) for headroom in sorted(points))
    return Tuned(frontier, chosen, bool(kept))
