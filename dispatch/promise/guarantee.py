"""Whether what was promised is kept: the promise against what happened, over the last seconds."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import floor
from typing import NamedTuple

from scipy.special import bdtr, bdtrc

from dispatch.promise.prediction import Prediction, Second
from dispatch.selection.policy import Promise

TARGET_RATE = 0.01
"""Every endpoint is held to this violation rate; where a policy promises less, to no less than this, since no machine
is without hiccups, and where it can only promise more (overload), to that."""

BUCKET_S = 1.0
WINDOW_S = 10.0
"""Queries are judged over the last so many seconds, second by second."""

MOSTLY = 0.95
"""Bounds are shown where tables decided on at least this share of the queries."""

FALSE_ALARM = 0.005
"""Probability at most of the verdict no, where the promise holds."""

TOO_MANY = 2.0
DOUBT = 0.2
"""The verdict yes needs so many queries that, were the rate `TOO_MANY` times what is promised, so few violations had at
most this probability."""

ROUNDING = 1e-6
"""In queries: promised rates are summed up."""


def promised_rate(promise: Promise | None) -> float:
    """The violation rate that a decision is held to."""
    return TARGET_RATE if promise is None else max(TARGET_RATE, promise.unavoidable_rate)


class Kept(StrEnum):
    """Whether the promise is kept."""

    YES = "yes"
    NO = "no"
    TOO_EARLY = "too early"


class GuaranteeEvent(NamedTuple):
    """An endpoint began to break its promise (``broken``), or keeps it again."""

    endpoint: str
    broken: bool
    promised_violation_rate: float
    observed_violation_rate: float
    queries: int


@dataclass(frozen=True)
class Guarantee:
    """Promise and truth over the queries that ended in the last ``window_s``; None where there is nothing to tell from.

    ``expected_accuracy`` bounds the observed one from below and ``expected_violation_rate`` from above (RAMSIS, section
    5.1): means of what the tables promise, weighted by the queries that each decided on. Observed accuracy is the mean
    measured accuracy of the variants that answered in time. ``kept`` is about ``promised_violation_rate``. The
    predicted ones bound what is seen of the queries of the next ``window_s`` (`Prediction`).
    """

    window_s: float
    kept: Kept
    queries: int
    violations: int
    promised_violation_rate: float | None
    observed_violation_rate: float | None
    client_violation_rate: float | None
    expected_violation_rate: float | None
    expected_accuracy: float | None
    observed_accuracy: float | None
    predicted_violation_rate: float | None
    predicted_accuracy: float | None
    broken: bool


@dataclass
class _Bucket:
    """Sums over the queries that ended in one second; ``late_squares`` sums the squared number of late ones per
    batch, ``squares`` that of all."""

    in_time: int = 0
    accuracy: float = 0.0
    late: int = 0
    late_for_clients: float = 0.0
    late_squares: int = 0
    squares: int = 0
    refused: int = 0
    promised: float = 0.0
    decided: int = 0  # queries of batches that a policy promised something of
    expected_accuracy: float = 0.0
    expected_violations: float = 0.0

    def add(self, other: "_Bucket") -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def violations(self) -> int:
        return self.late + self.refused

    @property
    def queries(self) -> int:
        return self.in_time + self.violations

    @property
    def second(self) -> Second:
        return Second(self.violations, self.in_time, self.accuracy, self.late_squares + self.refused)

    def kept(self) -> Kept:
        """The verdict.

        Queries of one batch are late together. As in cluster sampling, n such queries tell no more than n divided by
        the mean size of a late batch, seen from a late query, that are independent; where none was late, of any batch.
        """
        if not self.queries:
            return Kept.TOO_EARLY
        promised = self.promised / self.queries
        together = self.squares / self.queries
        if self.violations:
            together = (self.late_squares + self.refused) / self.violations
        violations, queries = self.violations / together, max(round(self.queries / together), 1)
        if self.violations > self.promised + ROUNDING:
            significant = promised < 1.0 and float(bdtrc(floor(violations) - 1, queries, promised)) < FALSE_ALARM
            return Kept.NO if violations >= 1.0 and significant else Kept.TOO_EARLY
        sure = TOO_MANY * promised >= 1.0 or float(bdtr(floor(violations), queries, TOO_MANY * promised)) < DOUBT
        return Kept.YES if sure else Kept.TOO_EARLY


class GuaranteeMonitor:
    """Follows one endpoint; tell it of every batch and refusal, and let `roll` see the time now and then."""

    def __init__(self, endpoint: str, now_s: float) -> None:
        self._endpoint = endpoint
        self._began_s = now_s
        self._bucket = _Bucket()
        self._past: deque[_Bucket] = deque(maxlen=round(WINDOW_S / BUCKET_S))
        self._prediction = Prediction(round(WINDOW_S / BUCKET_S))
        self._broken = False
        self.queries = 0
        self.violations = 0
        self.events = 0

    def on_served(
        self, in_time: int, late: int, late_for_clients: float, accuracy: float, promise: Promise | None
    ) -> None:
        """A batch was answered by a variant of that accuracy.

        ``late`` of its queries missed their deadlines here, ``late_for_clients`` are estimated to have, seen by
        clients.
        """
        bucket, queries = self._bucket, in_time + late
        bucket.in_time += in_time
        bucket.accuracy += in_time * accuracy
        bucket.late += late
        bucket.late_squares += late * late
        bucket.squares += queries * queries
        bucket.late_for_clients += late_for_clients
        bucket.promised += queries * promised_rate(promise)
        bucket.expected_accuracy += in_time * (accuracy if promise is None else promise.accuracy)
        if promise is not None:
            bucket.decided += queries
            bucket.expected_violations += queries * promise.violation_rate
        self.queries += queries
        self.violations += late

    def on_refused(self, queries: int = 1) -> None:
        """Queries got an error, which violates their objective as well."""
        self._bucket.refused += queries
        self._bucket.promised += queries * TARGET_RATE
        self.queries += queries
        self.violations += queries

    def roll(self, now_s: float) -> GuaranteeEvent | None:
        """Close the seconds that are over; gives the event that begins or ends with them."""
        self._close(now_s)
        seen = _sum(self._past)
        kept = seen.kept()
        if kept is not (Kept.YES if self._broken else Kept.NO):
            return None
        self._broken = not self._broken
        self.events += self._broken
        promised, observed = seen.promised / seen.queries, seen.violations / seen.queries
        return GuaranteeEvent(self._endpoint, self._broken, promised, observed, seen.queries)

    def guarantee(self, now_s: float) -> Guarantee:
        """Promise and truth over the last whole seconds."""
        self._close(now_s)
        seen = _sum(self._past)
        queries, decided = seen.queries, seen.decided if seen.decided >= MOSTLY * seen.queries else 0
        return Guarantee(
            window_s=WINDOW_S,
            kept=seen.kept(),
            queries=queries,
            violations=seen.violations,
            promised_violation_rate=seen.promised / queries if queries else None,
            observed_violation_rate=seen.violations / queries if queries else None,
            client_violation_rate=(seen.late_for_clients + seen.refused) / queries if queries else None,
            expected_violation_rate=seen.expected_violations / decided if decided else None,
            expected_accuracy=seen.expected_accuracy / seen.in_time if decided and seen.in_time else None,
            observed_accuracy=seen.accuracy / seen.in_time if seen.in_time else None,
            predicted_violation_rate=self._prediction.violation_rate,
            predicted_accuracy=self._prediction.accuracy,
            broken=self._broken,
        )

    def _close(self, now_s: float) -> None:
        self._began_s = max(self._began_s, now_s - 2 * WINDOW_S)  # where nobody looked for long
        while now_s >= self._began_s + BUCKET_S:
            self._began_s += BUCKET_S
            self._past.append(self._bucket)
            queries = self._bucket.queries
            self._prediction.on_second(self._bucket.second, self._bucket.promised / queries if queries else TARGET_RATE)
            self._bucket = _Bucket()


def _sum(buckets: Iterable[_Bucket]) -> _Bucket:
    total = _Bucket()
    for bucket in buckets:
        total.add(bucket)
    return total
