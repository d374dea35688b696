"""Feedback of last resort: policies may spend less of the slack while more deadlines are missed than promised."""

LEAST = 0.35
"""Policies may always spend this share of the slack."""

SHRINK = 0.8
"""Each step down leaves this share of what could be spent."""

RISE_PER_S = 0.05
"""What comes back per second without cause for alarm ..."""

CAUTIOUS_RISE_PER_S = 0.002
"""... and from just below where the promise was broken last."""

CAUTION_S = 60.0
"""How long that is remembered."""

ONE_BREAK_S = 5.0
"""Steps within so long of each other are of one break: what was too much is what was spent before the first."""

BELOW = 0.9
"""Just below: from this share of it on."""

SURE = 6.0
"""So many late batches more than may be are no chance: where just as many queries are late as may be, a step comes once
in some forty late batches, and where half as many are, hardly ever."""

LEAST_LATE = 3
"""Batches with late queries that a step down takes: one pause of the machine is not a cause."""

PAUSE_S = 2.0
"""After a step nothing comes back for so long."""


class SlackFeedback:
    """Follows the deadlines of one endpoint and says which share of the slack policies may spend.

    Late queries beyond those promised are summed up, from 0 whenever there is no excess (CUSUM, E. S. Page, 1954): so a
    large excess is found at once and a small one in time. The share falls in steps of `SHRINK` when the sum is too
    large for chance. After a step, queries that came before it do not count: they wait behind what it was taken for.
    The share comes back slowly while there is no excess, and more slowly still near where the promise broke last, so
    that it settles instead of swinging. It stays between `LEAST` and 1. Instants are of one clock, in seconds.
    """

    def __init__(self) -> None:
        self.share = 1.0
        self.reason: str | None = None
        self._since_s = 0.0  # queries that came before do not count
        self._broke_at = 1.0
        self._broke_s = -CAUTION_S
        self._rose_s: float | None = None
        self._begin(0.0)

    def _begin(self, now_s: float) -> None:
        """There is no excess."""
        self._began_s = now_s
        self._excess = 0.0  # late queries beyond those promised, since then
        self._queries = self._late = self._late_squares = self._late_batches = 0
        self._promised = 0.0

    def on_batch(self, queries: int, late: int, promised_rate: float, arrived_s: float, now_s: float) -> None:
        """A batch was answered, ``late`` of its queries after their deadlines; ``promised_rate`` is at most what may
        be. The most urgent query came at ``arrived_s``."""
        self._rise(now_s)
        if arrived_s < self._since_s:
            return
        promised = queries * promised_rate
        self._excess += late - promised
        if self._excess <= 0.0:
            self._begin(now_s)
            return
        self._queries += queries
        self._promised += promised
        if late:
            self._late += late
            self._late_squares += late * late
            self._late_batches += 1
            together = self._late_squares / self._late  # queries of one batch are late together
            if self._late_batches >= LEAST_LATE and self._excess > SURE * together:
                self._shrink(now_s)

    def _shrink(self, now_s: float) -> None:
        if now_s - self._broke_s > ONE_BREAK_S:
            self._broke_at = self.share
        self._broke_s = now_s
        self.share = max(LEAST, self.share * SHRINK)
        rate, promised = 100.0 * self._late / self._queries, 100.0 * self._promised / self._queries
        self.reason = (
            f"{self._late} of {self._queries} queries ({rate:.1f}%) were late within {now_s - self._began_s:.1f} s, "
            f"where {promised:.1f}% may be"
        )
        self._since_s = now_s
        self._begin(now_s)

    def _rise(self, now_s: float) -> None:
        elapsed_s = 0.0 if self._rose_s is None else now_s - self._rose_s
        self._rose_s = now_s
        if self.share >= 1.0 or self._excess > 0.0 or now_s - self._since_s < PAUSE_S:
            return
        fast_s = elapsed_s
        if now_s - self._broke_s < CAUTION_S:
            fast_s = min(max(BELOW * self._broke_at - self.share, 0.0) / RISE_PER_S, elapsed_s)
        rise = fast_s * RISE_PER_S + (elapsed_s - fast_s) * CAUTIOUS_RISE_PER_S
        self.share = min(1.0, self.share + rise)
        if self.share >= 1.0:
            self.reason = None
