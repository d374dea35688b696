"""Whether what was promised is kept: the bounds of the tables in force against what happened."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from scipy.special import bdtrc

from dispatch.selection.ramsis.table import DecisionTable

WINDOW_S = 10.0
"""Queries are judged window by window."""

WINDOWS_KEPT = 6

WINDOWS_IN_A_ROW = 3
"""So many windows above the bound make an event, so many below it end it."""

FALSE_ALARM = 0.001
"""Probability at most that a window counts as above a bound that holds."""

TOLERATED_RATE = 0.001
"""A bound below this counts as this: tables promise less than the hiccups of a machine allow."""


class GuaranteeEvent(NamedTuple):
    """The violation rate of an endpoint rose above its bound for good (``broken``), or is back under it."""

    endpoint: str
    broken: bool
    expected_violation_rate: float
    observed_violation_rate: float
    queries: int


@dataclass(frozen=True)
class Guarantee:
    """What was promised and what came of it, over ``queries`` that ended; None where there is nothing to tell from.

    ``expected_accuracy`` bounds the observed one from below and ``expected_violation_rate`` from above (RAMSIS,
    section 5.1); both are means over the tables in force, weighted by the queries that each decided on. Observed
    accuracy is what the variants' measured accuracies promise, over queries answered in time.
    """

    queries: int
    violations: int
    expected_accuracy: float | None
    observed_accuracy: float | None
    expected_violation_rate: float | None
    observed_violation_rate: float | None
    broken: bool


@dataclass
class _Window:
    """Sums over the queries of one window; ``late_squares`` sums the squared number of late queries per batch."""

    decided: int = 0
    promised_accuracy: float = 0.0
    promised_violations: float = 0.0
    in_time: int = 0
    accuracy: float = 0.0
    late: int = 0
    late_squares: int = 0
    refused: int = 0

    @property
    def queries(self) -> int:
        return self.in_time + self.violations

    @property
    def violations(self) -> int:
        return self.late + self.refused

    def above_bound(self) -> bool:
        """Whether chance leaves so many violations a probability below `FALSE_ALARM`, if the bound holds.

        Queries of one batch are late together. As in cluster sampling, n such queries tell no more than
        n divided by the mean size of a late batch, seen from a late query, that are independent.
        """
        if not self.decided or not self.violations:
            return False
        bound = max(self.promised_violations / self.decided, TOLERATED_RATE)
        together = (self.late_squares + self.refused) / self.violations
        violations, queries = floor(self.violations / together), round(self.queries / together)
        return bound < 1.0 and float(bdtrc(violations - 1, queries, bound)) < FALSE_ALARM


class GuaranteeMonitor:
    """Follows one endpoint; tell it of every batch and refusal, and let `roll` see the time now and then."""

    def __init__(self, endpoint: str, now_s: float) -> None:
        self._endpoint = endpoint
        self._ends_s = now_s + WINDOW_S
        self._window = _Window()
        self._past: deque[_Window] = deque(maxlen=WINDOWS_KEPT)
        self._against = 0
        self._broken = False
        self.queries = 0
        self.violations = 0
        self.events = 0

    def on_launch(self, queries: int, table: DecisionTable | None) -> None:
        """A batch was decided on by a table, or by something that promises nothing."""
        if table is not None:
            window = self._window
            window.decided += queries
            window.promised_accuracy += queries * table.expected_accuracy
            window.promised_violations += queries * table.expected_violation_rate

    def on_served(self, in_time: int, late: int, accuracy: float) -> None:
        """A batch was answered by a variant of that accuracy."""
        window = self._window
        window.in_time += in_time
        window.accuracy += in_time * accuracy
        window.late += late
        window.late_squares += late * late
        self.queries += in_time + late
        self.violations += late

    def on_refused(self) -> None:
        """A query got an error, which violates its objective as well."""
        self._window.refused += 1
        self.queries += 1
        self.violations += 1

    def roll(self, now_s: float) -> GuaranteeEvent | None:
        """Judge the window if it is over; gives the event that begins or ends with it."""
        if now_s < self._ends_s:
            return None
        self._ends_s = now_s + WINDOW_S
        window, self._window = self._window, _Window()
        self._past.append(window)
        if not window.queries:
            return None
        self._against = self._against + 1 if window.above_bound() != self._broken else 0
        if self._against < WINDOWS_IN_A_ROW:
            return None
        self._against = 0
        self._broken = not self._broken
        self.events += self._broken
        seen = _summary(list(self._past)[-WINDOWS_IN_A_ROW:], self._broken)
        expected, observed = seen.expected_violation_rate or 0.0, seen.observed_violation_rate or 0.0
        return GuaranteeEvent(self._endpoint, self._broken, expected, observed, seen.queries)

    def guarantee(self) -> Guarantee:
        """Expected and observed over the last windows and the one that is under way."""
        return _summary([*self._past, self._window], self._broken)


def _summary(windows: Iterable[_Window], broken: bool) -> Guarantee:
    kept = list(windows)
    decided = sum(window.decided for window in kept)
    in_time = sum(window.in_time for window in kept)
    queries = sum(window.queries for window in kept)
    violations = sum(window.violations for window in kept)
    return Guarantee(
        queries,
        violations,
        sum(window.promised_accuracy for window in kept) / decided if decided else None,
        sum(window.accuracy for window in kept) / in_time if in_time else None,
        sum(window.promised_violations for window in kept) / decided if decided else None,
        violations / queries if queries else None,
        broken,
    )
