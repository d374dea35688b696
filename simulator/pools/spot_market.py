"""What machines of a cloud cost, second by second, and when they are taken away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError

HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class PriceSeries:
    """``per_h[n]`` holds from ``at_s[n]``, ascending, up to the next; the first one also before, the last for ever."""

    at_s: NDArray[np.float64]
    per_h: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(self.at_s) or len(self.at_s) != len(self.per_h) or np.any(np.diff(self.at_s) <= 0):
            raise ConfigError(f"{len(self.per_h)} prices at {len(self.at_s)} instants; give one each, ascending")
        if not np.all((self.per_h >= 0) & (self.per_h < inf)):
            raise ConfigError("a price is below 0 or not finite; give prices per hour")

    @classmethod
    def constant(cls, per_h: float) -> "PriceSeries":
        """Always the same."""
        return cls(np.zeros(1), np.array([per_h]))

    def price_per_h(self, at_s: float) -> float:
        """The price at an instant."""
        return float(self.per_h[self._index(at_s)])

    def cost(self, begin_s: float, end_s: float) -> float:
        """What one machine costs from one instant to another, by the second."""
        inside = self.at_s[(self.at_s > begin_s) & (self.at_s < end_s)]
        edges = np.concatenate(([begin_s], inside, [end_s]))
        prices = self.per_h[np.maximum(np.searchsorted(self.at_s, edges[:-1], side="right") - 1, 0)]
        return float(prices @ np.diff(edges)) / HOUR_S

    def first_above_s(self, bid_per_h: float, after_s: float) -> float:
        """The first instant from ``after_s`` on at which the price is above a bid; infinity where it never is."""
        index = self._index(after_s)
        above = np.flatnonzero(self.per_h[index:] > bid_per_h)
        return inf if not len(above) else max(float(self.at_s[index + above[0]]), after_s)

    def _index(self, at_s: float) -> int:
        return max(int(np.searchsorted(self.at_s, at_s, side="right")) - 1, 0)


@dataclass(frozen=True)
class MachinePool:
    """Machines of one kind, as a planner's device type.

    They serve ``start_s`` after they were asked for, and cost what ``prices`` say from then on. ``bid_per_h`` is what
    is paid at most (Cocktail, section 6.2.3: 40% of the on-demand price): above it none is to be had, and those that
    run are taken away; None for on-demand. Spot machines are taken away at other times as well, ``lost_per_h`` of them
    an hour.
    """

    device: str
    prices: PriceSeries
    start_s: float
    bid_per_h: float | None = None
    lost_per_h: float = 0.0

    @property
    def preemptible(self) -> bool:
        """Whether machines may be taken away."""
        return self.bid_per_h is not None

    def offered_per_h(self, at_s: float) -> float:
        """The price at which a machine can be had now, infinity where none can."""
        price = self.prices.price_per_h(at_s)
        return inf if self.bid_per_h is not None and price > self.bid_per_h else price

    def taken_away_s(self, asked_s: float, rng: np.random.Generator) -> float:
        """When a machine that is asked for now will be taken away, infinity where it is not."""
        if self.bid_per_h is None:
            return inf
        lives_s = rng.exponential(HOUR_S / self.lost_per_h) if self.lost_per_h else inf
        return min(asked_s + lives_s, self.prices.first_above_s(self.bid_per_h, asked_s))


@dataclass(frozen=True)
class Lease:
    """One machine: paid for from ``asked_s``, gone at ``ended_s``, infinity while it is there."""

    worker: str
    device: str
    asked_s: float
    ready_s: float
    ended_s: float = inf


def cost_of(leases: Sequence[Lease], pools: Mapping[str, MachinePool], begin_s: float, end_s: float) -> float:
    """What all machines cost within a span of time."""
    return sum(
        pools[each.device].prices.cost(max(each.asked_s, begin_s), min(each.ended_s, end_s))
        for each in leases
        if each.asked_s < end_s and each.ended_s > begin_s
    )
