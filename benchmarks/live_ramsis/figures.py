"""A case of a system in figures: live, simulated and promised."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import floor
from statistics import fmean, median
from typing import Any, Protocol

import numpy as np
from scipy.special import bdtrc

from benchmarks.live_ramsis.live import Played
from benchmarks.live_ramsis.scene import BY_TABLES, Scene
from benchmarks.live_ramsis.simulated import Simulated
from dispatch.plan import EndpointPlan
from dispatch.promise.guarantee import FALSE_ALARM, TARGET_RATE
from dispatch.selection.load_based.ladder_selection import LadderSelection
from serve_app.testing.queries import Queries

SURE = 2.576
"""Standard errors within which a mean is in 99.5% of all cases, from one side."""


@dataclass(frozen=True)
class Outcome:
    """In percent; ``accuracy_pct`` is the mean measured accuracy of the variants that answered in time, None where none
    did."""

    accuracy_pct: float | None
    violation_pct: float


@dataclass(frozen=True)
class Row:
    """One case of one system.

    ``expected`` is what is promised: of tables their bounds, and of policies by load the accuracy of the rung and
    `TARGET_RATE`, which their rungs are made for. ``broken`` says what of the promise chance does not explain.
    ``first`` is the session before, of a system with tables, in which they came as they were made. ``slack_share`` is
    what feedback let policies spend of the slack, on average, ``live`` and ``simulated``. What is simulated are medians
    over seeds, with the least and the greatest in ``spread``. ``ahead`` has the mean ``lead`` of batches over the load,
    and the share of it in which all were launched ahead.
    """

    system: str
    trace: str
    share: float
    load_qps: float
    queries: int
    live: Outcome
    client_violation_pct: float
    simulated: Outcome
    expected: Outcome | None
    promised_violation_pct: float
    broken: tuple[str, ...]
    lag_p99_ms: float
    path: dict[str, float]
    tables: dict[str, Any]
    first: Outcome | None = None
    slack_share: dict[str, float] = field(default_factory=dict)
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    ahead: dict[str, float] = field(default_factory=dict)

    @property
    def accuracy_difference(self) -> float | None:
        """Points by which live is above simulated; None where one has nothing in time."""
        if self.live.accuracy_pct is None or self.simulated.accuracy_pct is None:
            return None
        return self.live.accuracy_pct - self.simulated.accuracy_pct

    @property
    def violation_difference(self) -> float:
        """The same of violations."""
        return self.live.violation_pct - self.simulated.violation_pct

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        differences = {"accuracy": self.accuracy_difference, "violations": self.violation_difference}
        return asdict(self) | {"live_over_simulated_points": differences}


def row_of(
    scene: Scene,
    system: str,
    played: Played,
    simulated: Sequence[Simulated],
    number: int,
    plan: EndpointPlan,
    first: Played | None = None,
) -> Row:
    """Of the queries that count; ``simulated`` is the whole session by seed, of which ``played`` is the case with this
    number from 0, ``first`` the same case in the session before."""
    case, queries, promise = played.case, played.queries, played.promise
    end_s = played.sent_s[-1]
    simulations = []
    for each in simulated:
        mine = (each.arrival_s >= played.from_s) & (each.arrival_s <= end_s)
        simulations.append(outcome(each.in_time[mine], each.accuracy[mine]))
    live = outcome(~queries.violated, queries.accuracy)
    expected = _by_tables(promise) if system in BY_TABLES else _by_load(plan, case.load_qps)
    return Row(
        system,
        case.trace,
        case.share,
        case.load_qps,
        len(queries),
        live,
        100.0 * float(queries.violated_at_client(scene.slo_ms).mean()),
        median_of(simulations),
        expected,
        100.0 * _promised(promise),
        (*_broken(system, played), *(f"{what} at first" for what in _broken(system, first))),
        float(np.percentile(queries.lag_ms, 99)),
        {f"{name}": value for name, value in asdict(played.path).items()},
        dict(played.tables),
        None if first is None else outcome(~first.queries.violated, first.queries.accuracy),
        {"live": played.slack_share, "simulated": median(each.slack_shares[number] for each in simulated)},
        spread_of(simulations),
        _ahead(played),
    )


def _ahead(played: Played) -> dict[str, float]:
    if not played.ahead:
        return {}
    return {
        "lead": fmean(each.lead for each in played.ahead),
        "all_ahead": fmean(each.all_ahead for each in played.ahead),
    }


def median_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Of both figures; of accuracies those that there are."""
    accuracies = [each.accuracy_pct for each in outcomes if each.accuracy_pct is not None]
    return Outcome(median(accuracies) if accuracies else None, median(each.violation_pct for each in outcomes))


class Measured(Protocol):
    """An outcome, whatever else it has."""

    @property
    def accuracy_pct(self) -> float | None:
        """Of queries that were answered."""
        ...

    @property
    def violation_pct(self) -> float:
        """Of all."""
        ...


def spread_of(outcomes: Sequence[Measured]) -> dict[str, tuple[float, float]]:
    """The least and the greatest of both figures; without accuracy where there is none."""
    figures = {
        "accuracy_pct": [each.accuracy_pct for each in outcomes if each.accuracy_pct is not None],
        "violation_pct": [each.violation_pct for each in outcomes],
    }
    return {name: (min(values), max(values)) for name, values in figures.items() if values}


def _broken(system: str, played: Played | None) -> tuple[str, ...]:
    if played is None or system not in BY_TABLES:
        return ()
    return broken(played.queries, _by_tables(played.promise), _promised(played.promise))


def _promised(promise: Any) -> float:
    rate = promise["promised_violation_rate"]
    return TARGET_RATE if rate is None else float(rate)


def outcome(in_time: np.ndarray[Any, np.dtype[np.bool_]], accuracy: np.ndarray[Any, np.dtype[np.float64]]) -> Outcome:
    """Of queries that were in time or not, and the accuracy of what answered each."""
    accuracy_pct = 100.0 * float(np.nanmean(accuracy[in_time])) if in_time.any() else None
    return Outcome(accuracy_pct, 100.0 * (1.0 - float(in_time.mean())))


def _by_tables(promise: Any) -> Outcome | None:
    """The bounds of the tables in force in the last seconds; None where others decided on many queries."""
    if promise["expected_accuracy"] is None or promise["expected_violation_rate"] is None:
        return None
    return Outcome(100.0 * promise["expected_accuracy"], 100.0 * promise["expected_violation_rate"])


def _by_load(plan: EndpointPlan, load_qps: float) -> Outcome:
    selection = plan.stage.selection
    assert isinstance(selection, LadderSelection)
    ((device, ladder),) = selection.ladders.items()
    accuracy = {each.variant: each.accuracy for each in plan.stage.candidates[device]}
    return Outcome(100.0 * accuracy[ladder.at(load_qps).variant], 100.0 * TARGET_RATE)


def broken(queries: Queries, expected: Outcome | None, promised_rate: float) -> tuple[str, ...]:
    """What was not kept of a promise, as `dispatch.promise.guarantee` judges: more violations than leave a probability
    of `FALSE_ALARM`, or an accuracy that is `SURE` standard errors below the bound.

    Queries of one second are taken to be late together, and to be answered by the same variants.
    """
    found = []
    second = (queries.intended_s - queries.intended_s.min()).astype(np.intp)
    late = np.bincount(second, queries.violated)
    violations = float(late.sum())
    if violations > promised_rate * len(queries):
        together = float((late**2).sum() / violations)
        independent = max(round(len(queries) / together), 1)
        if float(bdtrc(floor(violations / together) - 1, independent, promised_rate)) < FALSE_ALARM:
            found.append("violations")
    in_time = ~queries.violated
    counts = np.bincount(second[in_time])
    if expected is None or expected.accuracy_pct is None or np.count_nonzero(counts) < 2:
        return tuple(found)
    means = np.bincount(second[in_time], queries.accuracy[in_time])[counts > 0] / counts[counts > 0]
    error_pct = 100.0 * float(means.std(ddof=1)) / len(means) ** 0.5
    seen = outcome(in_time, queries.accuracy).accuracy_pct
    if seen is not None and seen < expected.accuracy_pct - SURE * error_pct:
        found.append("accuracy")
    return tuple(found)
