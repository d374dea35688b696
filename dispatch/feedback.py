"""Feedback of last resort: policies may spend less of the slack while more deadlines are missed than promised."""

from dataclasses import dataclass
from math import floor

from scipy.special import bdtrc

LEAST = 0.35
"""Policies may always spend this share of the slack."""

SHRINK = 0.85
"""Each step down leaves this share of what could be spent."""

RISE_PER_S = 0.03
"""What comes back per second without cause for alarm ..."""

CAUTIOUS_RISE_PER_S = 0.005
"""... and from just below where the promise was broken last."""

CAUTION_S = 30.0
"""How long that is remembered."""

BELOW = 0.95
"""Just below: from this share of it on."""

SIGNIFICANT = 0.01
"""Probability at most that a step down is taken by chance, where the promise holds."""

LEAST_LATE = 3
"""Batches with late queries that a step down takes: one pause of the machine is not a cause."""

JUDGED_S = 2.0
"""How far back a step looks at most."""


@dataclass
class _Period:
    """What ended since ``start_s``; ``late_squares`` sums the squared number of late queries per batch."""

    start_s: float
    queries: int = 0
    late: int = 0
    late_squares: int = 0
    late_batches: int = 0
    promised: float = 0.0  # sum over queries of the promised violation rate

    def too_many(self) -> bool:
        """Whether chance leaves so many late queries a probability below `SIGNIFICANT`, if the promise holds."""
        if self.late_batches < LEAST_LATE:
            return False
        together = self.late_squares / self.late  # queries of one batch are late together
        late, queries = floor(self.late / together), max(round(self.queries / together), 1)
        bound = self.promised / self.queries
        return bound < 1.0 and float(bdtrc(late - 1, queries, bound)) < SIGNIFICANT


class SlackFeedback:
    """Follows the deadlines of one endpoint and says which share of the slack policies may spend.

    The share falls in steps of `SHRINK` while significantly more queries are late than promised. After a step, what was
    launched before it does not count. The share comes back slowly, more slowly still near where the promise broke last,
    so that it settles instead of swinging. It stays between `LEAST` and 1. Instants are of one clock, in seconds.
    """

    def __init__(self) -> None:
        self.share = 1.0
        self.reason: str | None = None
        self._since_s = 0.0  # batches launched before do not count
        self._broke_at = 1.0
        self._broke_s = -CAUTION_S
        self._rose_s: float | None = None
        self._period = _Period(0.0)

    def on_batch(self, queries: int, late: int, promised_rate: float, launched_s: float, now_s: float) -> None:
        """A batch was answered, ``late`` of its queries after their deadlines; ``promised_rate`` is at most what may
        be."""
        self._rise(now_s)
        if launched_s < self._since_s:
            return
        period = self._period
        if now_s - period.start_s > JUDGED_S:
            period = self._period = _Period(now_s)
        period.queries += queries
        period.promised += queries * promised_rate
        if not late:
            return
        period.late += late
        period.late_squares += late * late
        period.late_batches += 1
        if period.too_many():
            self._shrink(now_s)

    def _shrink(self, now_s: float) -> None:
        period = self._period
        self._broke_at, self._broke_s = self.share, now_s
        self.share = max(LEAST, self.share * SHRINK)
        rate, promised = 100.0 * period.late / period.queries, 100.0 * period.promised / period.queries
        self.reason = (
            f"{period.late} of {period.queries} queries ({rate:.1f}%) were late within {now_s - period.start_s:.1f} s, "
            f"where {promised:.1f}% may be"
        )
        self._since_s = now_s
        self._period = _Period(now_s)

    def _rise(self, now_s: float) -> None:
        elapsed_s = 0.0 if self._rose_s is None else now_s - self._rose_s
        self._rose_s = now_s
        if self.share >= 1.0 or now_s - self._since_s < JUDGED_S:
            return
        cautious = now_s - self._broke_s < CAUTION_S and self.share >= BELOW * self._broke_at
        self.share = min(1.0, self.share + elapsed_s * (CAUTIOUS_RISE_PER_S if cautious else RISE_PER_S))
        if self.share >= 1.0:
            self.reason = None
