"""What the age of a queue says about the round robin's phase: interval A of RAMSIS, section 4.4.2."""

import numpy as np
from numpy.typing import NDArray

from dispatch.selection.ramsis.arrivals import ArrivalDistribution

Floats = NDArray[np.float64]


def phase_weights(arrivals: ArrivalDistribution, slack_s: Floats, workers: int, max_rows: int) -> Floats:
    """P(phase | n rows wait, the earliest with slack j), as [n - 1, j, phase].

    The earliest row came ``slo - slack`` ago, and (n - 1) K + f arrivals since, f being the phase. Where no such
    number is possible in that time (a queue of several rows with all its slack), the least unlikely phase counts.
    """
    age_s = slack_s[-1] - slack_s
    counts = arrivals.count_pmf(max_rows * workers - 1, age_s).reshape(len(slack_s), max_rows, workers)
    weights = counts.transpose(1, 0, 2).copy()
    total = weights.sum(axis=2)
    impossible = total <= np.finfo(np.float64).tiny
    weights[impossible] = 0.0
    busier = age_s[None, :] * arrivals.rate_qps > (np.arange(max_rows)[:, None] + 0.5) * workers
    weights[impossible & busier, -1] = 1.0
    weights[impossible & ~busier, 0] = 1.0
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))
