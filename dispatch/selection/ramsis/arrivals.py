"""How many queries arrive in an interval: the arrival distributions that tables are made for."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]


class ArrivalDistribution(Protocol):
    """A counting process with independent and stationary increments (RAMSIS, section 4.4.2).

    Such a process is a Poisson process of instants at which one or more queries arrive together. Implementations
    are frozen dataclasses, whose ``repr`` is part of the key under which tables are kept.
    """

    @property
    def rate_qps(self) -> float:
        """Mean arrivals per second."""
        ...

    def at_rate(self, rate_qps: float) -> "ArrivalDistribution":
        """The same pattern at another mean rate."""
        ...

    def count_pmf(self, most: int, interval_s: Floats) -> Floats:
        """P(k arrivals within each interval), k from 0 to ``most`` on a new last axis."""
        ...

    def together_pmf(self, most: int) -> Floats:
        """P(k queries arrive at an instant at which any do), k from 0 (never) to ``most``."""
        ...


@dataclass(frozen=True)
class Poisson:
    """Independent single arrivals."""

    rate_qps: float

    def at_rate(self, rate_qps: float) -> "Poisson":
        """Poisson arrivals at another rate."""
        return replace(self, rate_qps=rate_qps)

    def count_pmf(self, most: int, interval_s: Floats) -> Floats:
        """The Poisson distribution with mean ``rate * interval``."""
        mean = self.rate_qps * np.asarray(interval_s, dtype=np.float64)[..., None]
        counts = np.arange(most + 1, dtype=np.float64)
        return np.asarray(np.exp(_times_log(counts, mean) - mean - gammaln(counts + 1)))

    def together_pmf(self, most: int) -> Floats:
        """Always one."""
        pmf = np.zeros(most + 1)
        pmf[1] = 1.0
        return pmf


@dataclass(frozen=True)
class NegativeBinomial:
    """Bursty arrivals: counts have ``dispersion`` times the variance of Poisson counts (variance over mean, above 1).

    Over an interval t the count is negative binomial with shape ``rate * t / (dispersion - 1)``; as a process it
    is Poisson instants with logarithmically distributed bursts (a Lévy process, as section 4.4.2 asks for).
    """

    rate_qps: float
    dispersion: float

    def __post_init__(self) -> None:
        if not self.dispersion > 1.0:
            raise ValueError(f"dispersion {self.dispersion}; give a variance-to-mean ratio above 1, or use Poisson")

    def at_rate(self, rate_qps: float) -> "NegativeBinomial":
        """The same burstiness at another rate."""
        return replace(self, rate_qps=rate_qps)

    def count_pmf(self, most: int, interval_s: Floats) -> Floats:
        """The negative binomial distribution with mean ``rate * interval``."""
        shape = self.rate_qps * np.asarray(interval_s, dtype=np.float64)[..., None] / (self.dispersion - 1.0)
        counts = np.arange(most + 1, dtype=np.float64)
        positive = np.maximum(shape, np.finfo(np.float64).tiny)
        log_pmf = (
            gammaln(counts + positive)
            - gammaln(positive)
            - gammaln(counts + 1)
            - shape * np.log(self.dispersion)
            + counts * np.log1p(-1.0 / self.dispersion)
        )
        return np.asarray(np.where(shape > 0.0, np.exp(log_pmf), counts == 0))

    def together_pmf(self, most: int) -> Floats:
        """The logarithmic distribution with parameter ``1 - 1 / dispersion``."""
        log_base = np.log1p(-1.0 / self.dispersion)
        counts = np.arange(1, most + 1, dtype=np.float64)
        pmf = np.exp(counts * log_base) / (counts * np.log(self.dispersion))
        return np.concatenate([[0.0], pmf])


def _times_log(counts: Floats, mean: Floats) -> Floats:
    """``counts * log(mean)`` with 0 log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(counts == 0, 0.0, counts * np.log(mean)))
