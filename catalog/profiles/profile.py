"""How long a variant takes, per batch size, on one device type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError

QUANTITIES = ("mean_ms", "std_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")


@dataclass(frozen=True)
class BatchLatency:
    """Latency of one batch size over ``samples`` runs, in milliseconds."""

    samples: int
    mean_ms: float
    std_ms: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float

    @classmethod
    def of(cls, samples_s: NDArray[np.float64]) -> "BatchLatency":
        """Summarise measured runs, given in seconds; raises ValueError on an empty array."""
        ms = np.asarray(samples_s, dtype=np.float64) * 1e3
        p50, p90, p95, p99 = np.percentile(ms, [50, 90, 95, 99])
        return cls(len(ms), float(ms.mean()), float(ms.std()), float(p50), float(p90), float(p95), float(p99))


@dataclass(frozen=True)
class LatencyProfile:
    """Measured latencies of one variant on one device type, and a curve through them.

    A batch size that was not measured takes the least-squares line through the measured sizes, held between
    the nearest measured ones. Every quantity is non-decreasing in the batch size: a measured value above that of
    a larger batch is noise and is lowered to it, since the smaller batch could be padded to the larger one.

    Of a variant whose inputs may be of any length it is the profile at the typical ``length``, and ``by_length`` has
    those at all lengths that were measured, this one among them; elsewhere they are 0 and empty.
    """

    device: str
    by_batch: Mapping[int, BatchLatency]
    length: int = 0
    by_length: Mapping[int, "LatencyProfile"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.by_batch:
            raise ConfigError(
                f"the latency profile for device {self.device!r} holds no batch size; measure at least one"
            )
        if min(self.by_batch) < 1:
            raise ConfigError(f"batch size {min(self.by_batch)} in a latency profile; batch sizes start at 1")

    @classmethod
    def of_lengths(cls, device: str, typical: int, by_length: Mapping[int, Mapping[int, BatchLatency]]) -> Self:
        """The profile of a variant that was measured at several lengths; ``typical`` must be among them."""
        profiles = {length: cls(device, by_batch, length) for length, by_batch in by_length.items()}
        return cls(device, by_length[typical], typical, profiles)

    @cached_property
    def batch_sizes(self) -> tuple[int, ...]:
        """Measured batch sizes, ascending."""
        return tuple(sorted(self.by_batch))

    @cached_property
    def _curves(self) -> dict[str, tuple[NDArray[np.float64], float, float]]:
        """Quantity to (non-decreasing measured values, intercept, slope), in milliseconds."""
        curves = {}
        sizes = np.array(self.batch_sizes, dtype=np.float64)
        for quantity in QUANTITIES:
            measured = np.array([getattr(self.by_batch[size], quantity) for size in self.batch_sizes])
            lowered = np.minimum.accumulate(measured[::-1])[::-1]
            if len(sizes) > 1:
                slope, intercept = np.polyfit(sizes, lowered, 1)
            else:  # one point says nothing about a fixed cost: assume that time grows with the batch
                slope, intercept = lowered[0] / sizes[0], 0.0
            curves[quantity] = (lowered, float(intercept), max(float(slope), 0.0))  # rounding may give -1e-17
        return curves

    def latency_ms(self, batch_size: int, quantity: str = "p95_ms") -> float:
        """Latency of a batch of ``batch_size`` rows; ``quantity`` is one of `QUANTITIES`.

        Raises ValueError for a batch size below 1.
        """
        if batch_size < 1:
            raise ValueError(f"batch size {batch_size}; ask for at least 1")
        lowered, intercept, slope = self._curves[quantity]
        position = int(np.searchsorted(self.batch_sizes, batch_size))
        if position < len(lowered) and self.batch_sizes[position] == batch_size:
            return float(lowered[position])
        low = lowered[position - 1] if position > 0 else 0.0
        high = lowered[position] if position < len(lowered) else np.inf
        return float(np.clip(intercept + slope * batch_size, low, high))

    def p95_s(self, batch_size: int) -> float:
        """95th percentile in seconds, the value that selection plans with (RAMSIS, section 6)."""
        return self.latency_ms(batch_size, "p95_ms") / 1e3

    def mean_s(self, batch_size: int) -> float:
        """Mean in seconds: how long a worker is busy."""
        return self.latency_ms(batch_size, "mean_ms") / 1e3
