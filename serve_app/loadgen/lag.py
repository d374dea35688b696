"""Whether the generator itself kept up, without which its latencies mean little."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIMIT_MS = 10.0
LIMIT_OF_SLO = 0.1


@dataclass(frozen=True)
class Lag:
    """How long after their intended instants queries left, in milliseconds; ``limit_ms`` is what p99 may reach."""

    p99_ms: float
    max_ms: float
    limit_ms: float

    @classmethod
    def of(cls, lags_ms: NDArray[np.float64], slo_ms: float | None) -> "Lag":
        """Summarise; the limit is 10 ms, or a tenth of the objective where that is less."""
        limit_ms = LIMIT_MS if slo_ms is None else min(LIMIT_MS, LIMIT_OF_SLO * slo_ms)
        if not len(lags_ms):
            return cls(0.0, 0.0, limit_ms)
        return cls(float(np.percentile(lags_ms, 99)), float(lags_ms.max()), limit_ms)

    @property
    def fell_behind(self) -> bool:
        """True where the generator distorts what it measures."""
        return self.p99_ms > self.limit_ms

    @property
    def warning(self) -> str | None:
        """What to tell the reader, None where all is well."""
        if not self.fell_behind:
            return None
        return (
            f"the load generator itself fell behind: 1% of queries left {self.p99_ms:.1f} ms or more late "
            f"(worst {self.max_ms:.1f} ms, limit {self.limit_ms:g} ms), and the latencies include that; "
            "lower the rate, free a CPU core, or send from another machine"
        )
