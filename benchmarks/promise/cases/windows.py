"""Whether what a service says of its promise agrees with its own figures, and with what came back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from serve_app.testing.queries import Flags, Floats, Queries
from serve_app.testing.status_watch import Snapshot

SLACK = 0.01
"""So far a service's violation rate may lie from the benchmark's own of the same window."""

BEFORE_S, AFTER_S, SHIFTS = 1.25, 0.5, 16
"""A window ends with a whole second of the service, and clients learn of an answer later than the server: the
benchmark's own rate is that of any of so many windows which end so long before the question or after the answer."""

LEAST_QUERIES = 100
"""Bounds are judged by so many queries or more: of fewer, one late query is more than 1%."""

LEAST_S = 2.0
"""And by so many seconds or more of what came after they were told."""

ACCURACY_SLACK = 0.001

Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class WindowCounts:
    """How many windows said what, and how many of them were right."""

    yes: int = 0
    no: int = 0
    too_early: int = 0
    silent: int = 0  # the service does not judge its promise at all
    contradicted: int = 0  # its own figures say otherwise, out of yes and no
    miscounted: int = 0  # its figures are not those of the benchmark, out of yes and no, and not contradicted
    bounds: int = 0  # windows with bounds to judge
    bounds_right: int = 0
    promises: int = 0  # windows of enough queries
    promises_right: int = 0  # in which no more violated than the service is held to

    def __add__(self, other: "WindowCounts") -> "WindowCounts":
        return WindowCounts(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def agree_share(self) -> float | None:
        """Of the windows that say yes or no; None where there are none."""
        said = self.yes + self.no
        return (said - self.contradicted - self.miscounted) / said if said else None

    @property
    def decided_share(self) -> float | None:
        """Of the windows with a word, those that say yes or no; None where there are none."""
        worded = self.yes + self.no + self.too_early
        return (self.yes + self.no) / worded if worded else None

    @property
    def bounds_right_share(self) -> float | None:
        """Of the windows with bounds; None where there are none."""
        return self.bounds_right / self.bounds if self.bounds else None


def count_windows(
    snapshots: Sequence[Snapshot], endpoint: str, queries: Queries, spans_s: Spans = ((-inf, inf),)
) -> WindowCounts:
    """Judge every snapshot; ``queries`` are all that the service got of anyone, in any order.

    Bounds for what is to come are judged within ``spans_s``, in which nothing changes that nobody could foresee.
    """
    if not len(queries):
        return WindowCounts()
    order = np.argsort(queries.done_s, kind="stable")
    done_s, violated = queries.done_s[order], queries.violated[order]
    first_s = float(queries.intended_s.min())
    counts: Counter[str] = Counter()
    for snapshot in snapshots:
        told = snapshot.endpoint(endpoint).get("guarantee") or {}
        said = told.get("kept")
        if not told.get("queries"):
            continue
        counts[str(said).replace(" ", "_") if said in ("yes", "no", "too early") else "silent"] += 1
        if said in ("yes", "no"):
            if contradicts_itself(told):
                counts["contradicted"] += 1
            elif snapshot.asked_s - told["window_s"] > first_s and not _as_counted(snapshot, told, done_s, violated):
                counts["miscounted"] += 1
        right = bounds_hold(told, _to_come(queries, snapshot.told_s, told["window_s"], spans_s))
        if right is not None:
            counts["bounds"] += 1
            counts["bounds_right"] += right
        if told["queries"] >= LEAST_QUERIES:
            counts["promises"] += 1
            counts["promises_right"] += told["observed_violation_rate"] <= told["promised_violation_rate"]
    return WindowCounts(**counts)


def contradicts_itself(told: Mapping[str, Any]) -> bool:
    """Whether a guarantee is called kept beside a violation rate above the promised one, or broken beside another."""
    observed, promised = told.get("observed_violation_rate"), told.get("promised_violation_rate")
    if observed is None or promised is None:
        return True
    return bool((told["kept"] == "yes") != (observed <= promised))


def bounds_hold(told: Mapping[str, Any], to_come: Queries) -> bool | None:
    """Whether all bounds are on the right side; None where there is none, or too little seen.

    What is predicted is compared with what the benchmark itself saw afterwards, what tables expect with what the
    service observed.
    """
    most, least = told.get("predicted_violation_rate"), told.get("predicted_accuracy")
    if most is None or least is None or len(to_come) < LEAST_QUERIES:
        return None
    in_time = to_come.accuracy[~to_come.violated & ~np.isnan(to_come.accuracy)]
    right = [to_come.violated.mean() <= most, not len(in_time) or in_time.mean() >= least - ACCURACY_SLACK]
    if (expected := told.get("expected_violation_rate")) is not None:
        right.append(told["observed_violation_rate"] <= expected)
    if (expected := told.get("expected_accuracy")) is not None:
        right.append(told["observed_accuracy"] is None or told["observed_accuracy"] >= expected - ACCURACY_SLACK)
    return bool(all(right))


def _to_come(queries: Queries, told_s: float, window_s: float, spans_s: Spans) -> Queries:
    """What ended in the window after an instant, within its span; nothing where too little of that is left."""
    for begin_s, end_s in spans_s:
        if begin_s <= told_s <= end_s - LEAST_S:
            return queries.where((queries.done_s >= told_s) & (queries.done_s < min(told_s + window_s, end_s)))
    return queries.where(np.zeros(len(queries), dtype=np.bool_))


def _as_counted(snapshot: Snapshot, told: Mapping[str, Any], done_s: Floats, violated: Flags) -> bool:
    """Whether the benchmark's own rate, with `SLACK`, has the service's within its range over all shifts."""
    rates = []
    for end_s in np.linspace(snapshot.asked_s - BEFORE_S, snapshot.told_s + AFTER_S, SHIFTS):
        start, end = np.searchsorted(done_s, [end_s - told["window_s"], end_s])
        if end > start:
            rates.append(float(violated[start:end].mean()))
    observed = told["observed_violation_rate"]
    return not rates or min(rates) - SLACK <= observed <= max(rates) + SLACK
