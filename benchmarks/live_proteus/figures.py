"""A system under a load in figures, live and simulated, and what is promised of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.live_proteus.live import Played
from benchmarks.live_proteus.loads import Load
from benchmarks.live_proteus.simulated import Simulated
from benchmarks.live_ramsis.figures import spread_of
from serve_app.testing.queries import Queries

Floats = NDArray[np.float64]

OURS = "accord"
FRONTIER = ("accord", "accord_roomy")
"""Accord with as much room as it ships with, and with more: what lies between is had with each a part of the time."""

SCALING = ("sommelier", "sommelier_tight", "infaas")
"""Baselines that scale accuracy; the others are placed once, at one end of it."""

WINDOW_S = 10.0
ACCURACY_POINTS, VIOLATION_POINTS = 0.5, 1.0
FEWER = 3.0
"""Violations of the best baseline over Accord's."""

ROUNDING = 0.05


@dataclass(frozen=True)
class Outcome:
    """In percent (docs/metrics.md): of queries that were answered the mean normalised accuracy, and how far the worst
    window of `WINDOW_S` is below 100; of all queries those late or refused."""

    accuracy_pct: float | None
    max_drop_pct: float | None
    violation_pct: float

    @classmethod
    def of(cls, at_s: Floats, violated: NDArray[np.bool_], accuracy: Floats) -> "Outcome":
        """``accuracy`` is NaN where there was no answer."""
        answered = ~np.isnan(accuracy)
        if not answered.any():
            return cls(None, None, 100.0 * float(violated.mean()))
        window = ((at_s[answered] - at_s.min()) // WINDOW_S).astype(np.intp)
        sums, counts = np.bincount(window, accuracy[answered]), np.bincount(window)
        worst = float((sums[counts > 0] / counts[counts > 0]).min())
        return cls(100.0 * float(accuracy[answered].mean()), 100.0 * (1.0 - worst), 100.0 * float(violated.mean()))

    @property
    def drop_pct(self) -> float:
        """The mean drop; 100 where nothing was answered."""
        return 100.0 - (self.accuracy_pct or 0.0)


@dataclass(frozen=True)
class Row:
    """One system under one load. What is simulated are medians over the draws, ``spread`` their least and greatest."""

    system: str
    trace: str
    queries: int
    live: Outcome
    simulated: Outcome
    endpoints: dict[str, Outcome]
    plans: int
    lag_p99_ms: float
    times_s: dict[str, float]
    spread: dict[str, tuple[float, float]]

    @property
    def apart(self) -> tuple[float, float]:
        """Points of accuracy and of violations by which live is above simulated."""
        accuracy = (self.live.accuracy_pct or 0.0) - (self.simulated.accuracy_pct or 0.0)
        return accuracy, self.live.violation_pct - self.simulated.violation_pct

    @property
    def beyond_draws(self) -> bool:
        """Whether live is farther than wanted from everything that was drawn, and not from the median alone."""
        wanted = {"accuracy_pct": ACCURACY_POINTS, "violation_pct": VIOLATION_POINTS}
        return any(
            not low - wanted[name] <= (getattr(self.live, name) or 0.0) <= high + wanted[name]
            for name, (low, high) in self.spread.items()
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        accuracy, violations = self.apart
        return asdict(self) | {"live_over_simulated_points": {"accuracy": accuracy, "violations": violations}}


def row_of(system: str, load: Load, played: Played, simulated: Sequence[Simulated]) -> Row:
    """Of the queries that count."""
    whole = Queries.joined(list(played.queries.values()))
    draws = [simulated_outcome(each, load.warm_s) for each in simulated]
    return Row(
        system,
        load.trace,
        len(whole),
        live_outcome(whole),
        median_of(draws),
        {name: live_outcome(each) for name, each in played.queries.items() if len(each)},
        played.plans,
        float(np.percentile(whole.lag_ms, 99)),
        {name: getattr(played, name) for name in ("path_s", "path_tail_s", "solve_s", "load_s")},
        spread_of(draws),
    )


def simulated_outcome(simulated: Simulated, warm_s: float) -> Outcome:
    """Of a draw, without its first ``warm_s``."""
    record = simulated.record
    counted = record.arrival_s >= simulated.begin_s + warm_s
    accuracy = np.append(record.batches.accuracy, np.nan)[record.batch]
    return Outcome.of(record.arrival_s[counted], (record.done_s > record.deadline_s)[counted], accuracy[counted])


def median_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Figure by figure; of accuracies those that there are."""
    accuracies = [each.accuracy_pct for each in outcomes if each.accuracy_pct is not None]
    drops = [each.max_drop_pct for each in outcomes if each.max_drop_pct is not None]
    return Outcome(
        median(accuracies) if accuracies else None,
        median(drops) if drops else None,
        median(each.violation_pct for each in outcomes),
    )


def live_outcome(queries: Queries) -> Outcome:
    """By the server's account."""
    accuracy = np.where(queries.failed, np.nan, queries.accuracy)
    return Outcome.of(queries.intended_s, queries.violated, accuracy)


def goals_of(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """By name: whether it is met, and what it is about."""
    apart = {
        f"{row.system}, {row.trace}": row.apart
        for row in rows
        if abs(row.apart[0]) > ACCURACY_POINTS or abs(row.apart[1]) > VIOLATION_POINTS
    }
    beyond = [f"{row.system}, {row.trace}" for row in rows if row.beyond_draws]
    found: dict[str, dict[str, Any]] = {
        "live_is_simulated": {
            "met": not apart,
            "beyond_draws": beyond,
            "accuracy_points": max(abs(row.apart[0]) for row in rows),
            "wanted_accuracy_points": ACCURACY_POINTS,
            "violation_points": max(abs(row.apart[1]) for row in rows),
            "wanted_violation_points": VIOLATION_POINTS,
            "apart": apart,
        }
    }
    for trace in dict.fromkeys(row.trace for row in rows):
        own = {row.system: row.live for row in rows if row.trace == trace}
        frontier = [own[name] for name in FRONTIER if name in own]
        beaten = {
            name: _against(own[name], own.get(OURS)) | at_drop(frontier, own[name]) for name in SCALING if name in own
        }
        found[f"fewer_violations_{trace}"] = {
            "met": len(beaten) == len(SCALING) and all(each["met"] for each in beaten.values()),
            "wanted_times": FEWER,
            "baselines": beaten,
        }
    return found


def _against(theirs: Outcome, ours: Outcome | None) -> dict[str, Any]:
    """A baseline that violates at all, beside Accord, which is to violate less with no more drop of accuracy."""
    no_more_drop = ours is not None and ours.drop_pct <= theirs.drop_pct + ROUNDING
    return {
        "met": ours is not None
        and no_more_drop
        and theirs.violation_pct > 0.0
        and FEWER * ours.violation_pct <= theirs.violation_pct,
        "violation_pct": theirs.violation_pct,
        "drop_pct": theirs.drop_pct,
        "no_more_drop": no_more_drop,
        "our_violation_pct": None if ours is None else ours.violation_pct,
        "our_drop_pct": None if ours is None else ours.drop_pct,
    }


def at_drop(frontier: Sequence[Outcome], theirs: Outcome) -> dict[str, Any]:
    """Violations at the drop of a baseline by the frontier, and how many times fewer those are; null where all of the
    frontier drops more, or nothing violates. No goal counts it."""
    accurate = [each for each in frontier if each.drop_pct <= theirs.drop_pct + ROUNDING]
    least_pct = [each.violation_pct for each in accurate]
    for ours, roomier in product(accurate, frontier):
        if roomier.drop_pct > theirs.drop_pct + ROUNDING:
            part = max(theirs.drop_pct - ours.drop_pct, 0.0) / (roomier.drop_pct - ours.drop_pct)
            least_pct.append(ours.violation_pct + part * (roomier.violation_pct - ours.violation_pct))
    found_pct = min(least_pct, default=None)
    return {
        "violation_pct_at_their_drop": found_pct,
        "times_fewer_at_their_drop": theirs.violation_pct / found_pct if found_pct else None,
    }
