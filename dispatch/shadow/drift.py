"""Whether a share has fallen below what it is held to, found while observations come one by one."""

from collections.abc import Sequence
from math import log

MEAN_RUN = 1e5
"""So many observations pass on average until a false alarm, at least."""

STEPS = 6
"""So many falls are looked for, evenly spaced, the largest to no success at all."""

LEAST_FLOOR, MOST_FLOOR = 0.02, 0.99
"""A share is held to no less and no more than this: below there is nothing to lose, above one failure would do."""


class FallDetector:
    """Shiryaev-Roberts procedure (M. Pollak, 1985) for a share of successes that is ``floor`` at least, 0 to 1.

    The statistic sums up, over all instants at which the share may have fallen, how much likelier the observations
    since are under a fall, averaged over several. While the share is the floor or more, the statistic minus the number
    of observations has no upward drift; so the mean time to a false alarm is `MEAN_RUN` observations or more, however
    often one looks.
    """

    def __init__(self, floor: float) -> None:
        floor = min(max(floor, LEAST_FLOOR), MOST_FLOOR)
        fallen = [floor * (1.0 - step / STEPS) for step in range(1, STEPS + 1)]
        self._success = [share / floor for share in fallen]
        self._failure = [(1.0 - share) / (1.0 - floor) for share in fallen]
        self.begin()

    def begin(self) -> None:
        """Nothing has been observed."""
        self._sums = [0.0] * STEPS

    def observe(self, success: bool) -> bool:
        """Take one observation; gives whether the share is found to have fallen."""
        ratios = self._success if success else self._failure
        self._sums = [(sum_ + 1.0) * ratio for sum_, ratio in zip(self._sums, ratios, strict=True)]
        return self.statistic >= MEAN_RUN

    @property
    def statistic(self) -> float:
        """How much likelier a fall at any instant is than none."""
        return sum(self._sums) / STEPS

    def since(self, observations: Sequence[bool]) -> int:
        """How many of the last observations come after the fall that is likeliest: since E. S. Page's sum (1954) for
        it was zero."""
        fall = max(range(STEPS), key=self._sums.__getitem__)
        success, failure = max(self._success[fall], 1e-9), self._failure[fall]
        sum_, began = 0.0, 0
        for index, observed in enumerate(observations, start=1):
            sum_ += log(success if observed else failure)
            if sum_ <= 0.0:
                sum_, began = 0.0, index
        return len(observations) - began
