"""What came back of a load."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Sent:
    """One entry per query, in seconds since the load began; ``done_s`` is NaN and ``status`` 0 where no answer came."""

    intended_s: NDArray[np.float64]
    sent_s: NDArray[np.float64]
    done_s: NDArray[np.float64]
    status: NDArray[np.int16]
    cpu_s: float  # of the client
    connections: int  # that it opened

    @property
    def latency_s(self) -> NDArray[np.float64]:
        """From the intended instant, so that the client's own delay counts."""
        return self.done_s - self.intended_s

    @property
    def lag_s(self) -> NDArray[np.float64]:
        """How late the client sent."""
        return self.sent_s - self.intended_s
