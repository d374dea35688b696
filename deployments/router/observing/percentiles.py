"""Times as people read them."""

from collections.abc import Sequence

import numpy as np


def percentiles_ms(values_s: Sequence[float]) -> dict[str, float] | None:
    """Mean, median, 95th and 99th percentile in milliseconds; None of nothing."""
    if not values_s:
        return None
    values_ms = np.array(values_s) * 1e3
    p50, p95, p99 = np.percentile(values_ms, [50, 95, 99])
    return {"mean": round(float(values_ms.mean()), 3), "p50": round(p50, 3), "p95": round(p95, 3), "p99": round(p99, 3)}
