"""How long the earliest query has waited: the slack grid seen from the other end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LATE_STEPS_PER_SLO = 16
"""Beyond the objective ages matter only for how many queries came in the meantime."""


@dataclass(frozen=True, eq=False)
class Ages:
    """Bins of age: bin 0 is age zero exactly, bin b is ``(low_s[b], high_s[b]]``; the first ``timely`` have slack left.

    The slack that counts in a timely bin is the least in it, ``slo - high_s``, which is a step of the slack grid.
    """

    low_s: Floats
    high_s: Floats
    timely: int

    @classmethod
    def of(cls, slack_s: Floats, longest_s: float) -> "Ages":
        """The bins that belong to a slack grid, and late ones up to ``longest_s``."""
        slo_s = slack_s[-1]
        edges_s = slo_s - slack_s[::-1]
        late_s = np.arange(slo_s, longest_s, slo_s / LATE_STEPS_PER_SLO)[1:]
        edges_s = np.concatenate([[0.0], edges_s, late_s, [max(longest_s, slo_s) * (1 + 1e-9)]])
        return cls(edges_s[:-1], edges_s[1:], len(slack_s))

    @property
    def edges_s(self) -> Floats:
        """Where bins begin, and where the last ends."""
        return np.append(self.low_s, self.high_s[-1])

    def after_exponential(self, rate_qps: float) -> Floats:
        """P(bin after an exponential time of that rate | timely bin), as [timely bin, bin], the last for all beyond.

        The age is uniform in its bin: the integrals are those of the exponential's tail over both bins.
        """
        bins = len(self.low_s)
        reached = np.zeros((self.timely, bins + 1))
        reached[0, :-1] = np.exp(-rate_qps * self.low_s) - np.exp(-rate_qps * self.high_s)
        low_s, high_s = self.low_s[1 : self.timely], self.high_s[1 : self.timely]
        width_s = high_s - low_s

        def beyond(edges_s: Floats) -> Floats:  # P(age then > edge), for edges at or above the bin
            away_s = np.maximum(edges_s[None, :] - high_s[:, None], 0.0)
            full_s = np.maximum(edges_s[None, :] - low_s[:, None], width_s[:, None])
            return np.asarray((np.exp(-rate_qps * away_s) - np.exp(-rate_qps * full_s)) / (rate_qps * width_s[:, None]))

        for row, passed in enumerate(beyond(self.high_s), start=1):
            reached[row, row] = 1.0 - passed[row]
            reached[row, row + 1 : -1] = passed[row:-1] - passed[row + 1 :]
        reached[:, -1] = np.maximum(1.0 - reached[:, :-1].sum(axis=1), 0.0)
        return reached
