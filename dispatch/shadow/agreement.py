"""How often a variant agrees with its reference, and what that says of its accuracy."""

from collections import deque
from math import sqrt
from typing import NamedTuple

from catalog.evaluation.interval import Z_95, wilson
from dispatch.shadow.drift import FallDetector
from dispatch.shadow.rules import Together

WINDOW = 1000
"""The latest so many comparisons count for the estimate."""

RECENT = 100
"""Comparisons by which is judged whether a variant that had fallen is well again."""

Z_FLOOR = 3.0
"""Agreement may be this many standard errors below what was measured, and ..."""

TOLERANCE = 0.01
"""... so much more, before that is called a fall."""


class Baseline(NamedTuple):
    """What is known of a variant and its reference before any query.

    ``accuracy`` and ``reference_accuracy`` are shares of right classes, ``least`` and ``reference_least`` the lower
    ends of their intervals, where these were measured.
    """

    accuracy: float
    least: float
    reference: str
    reference_accuracy: float
    reference_least: float
    together: Together | None = None

    @property
    def floor(self) -> float:
        """What agreement is held to.

        Measured agreement less what chance may take; where it was not measured, both are right at once on this share
        of the queries at least, however their errors go together.
        """
        if self.together is None:
            return max(0.0, self.least + self.reference_least - 1.0 - TOLERANCE)
        low, _ = wilson(self.together.agreed, self.together.examples, Z_FLOOR)
        return max(0.0, low - TOLERANCE)


class LiveAccuracy(NamedTuple):
    """An estimate from 0 to 1 with the ends of its 95% interval, None before the first comparison."""

    accuracy: float | None
    low: float | None
    high: float | None


def live_accuracy(baseline: Baseline, agreed: int, compared: int, *, drifted: bool) -> LiveAccuracy:
    """The accuracy of a variant that agreed with its reference on so many of the queries that were compared.

    A difference estimator: agreement now, plus what the variant's accuracy was above its agreement on labelled data.
    The interval has the chance in both. Whatever their errors are, accuracy and agreement differ by no more than the
    reference errs, since wherever the reference is right, agreeing and being right are the same: that bounds the
    interval, and is the whole interval where nothing was measured of both together, or where the variant ``drifted``,
    so that what was measured does not hold any more.
    """
    if not compared:
        return LiveAccuracy(None, None, None)
    share = agreed / compared
    low, high = wilson(agreed, compared)
    errs = 1.0 - baseline.reference_least
    least, most = max(0.0, low - errs), min(1.0, high + errs)
    together = baseline.together
    if together is None or drifted:
        return LiveAccuracy(share, least, most)
    above = (together.right - together.agreed) / together.examples
    above_error = Z_95 * _difference_error(together, 1.0 - baseline.reference_accuracy)
    accuracy = min(max(share + above, 0.0), 1.0)
    return LiveAccuracy(
        accuracy,
        max(least, accuracy - sqrt((share - low) ** 2 + above_error**2)),
        min(most, accuracy + sqrt((high - share) ** 2 + above_error**2)),
    )


def _difference_error(together: Together, errs: float) -> float:
    """Standard error of accuracy minus agreement: per example that is 0 wherever the reference is right."""
    difference = (together.right - together.agreed) / together.examples
    return sqrt(max(errs - difference * difference, 0.0) / together.examples)


class Agreement:
    """Comparisons of one variant with its reference, of which the latest `WINDOW` are kept."""

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.compared = 0
        self.drifted = False
        self.found_after: int | None = None
        """Comparisons until the latest fall was found."""
        self._detector = FallDetector(baseline.floor)
        self._latest: deque[bool] = deque(maxlen=WINDOW)

    def observe(self, agreed: bool) -> bool:
        """The variant was compared once more; gives whether it is found now to have fallen."""
        self.compared += 1
        self._latest.append(agreed)
        if self.drifted:
            self._look_again()
            return False
        if not self._detector.observe(agreed):
            return False
        self.drifted, self.found_after = True, self.compared
        for _ in range(len(self._latest) - self._detector.since(self._latest)):
            self._latest.popleft()  # what came before the fall says nothing of the variant as it is now
        return True

    def _look_again(self) -> None:
        recent = list(self._latest)[-RECENT:]
        if len(recent) == RECENT and sum(recent) / RECENT >= self.baseline.floor:
            self.drifted = False
            self._detector.begin()

    @property
    def agreed(self) -> int:
        """How often it agreed, of the latest `seen`."""
        return sum(self._latest)

    @property
    def seen(self) -> int:
        """How many comparisons count for the estimate."""
        return len(self._latest)

    def live(self) -> LiveAccuracy:
        """The estimate as it is now."""
        return live_accuracy(self.baseline, self.agreed, self.seen, drifted=self.drifted)
