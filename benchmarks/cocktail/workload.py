"""What every system is given: the same arrivals, constraints, images, prices and forecaster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.cocktail.load import Part, shifted
from benchmarks.cocktail.models import ASKS, MACHINES, MIXES, SPOT
from catalog.votes import RecordedVotes
from simulator.pools.spot_market import MachinePool, PriceSeries

BID_SHARE = 0.4
"""Of the on-demand price (section 6.2.3)."""


@dataclass(frozen=True, eq=False)
class Workload:
    """One part of the load under one mix; ``ask`` indexes `ASKS` by query, ``row`` the rows of ``votes``."""

    part: Part
    mix: str
    arrival_s: NDArray[np.float64]
    ask: NDArray[np.intp]
    row: NDArray[np.intp]
    votes: RecordedVotes
    pools: Sequence[MachinePool]
    seed: int

    @property
    def asked(self) -> list[float]:
        """The accuracy that each query asks for."""
        accuracies = np.array([ask.accuracy for ask in ASKS])
        found: list[float] = accuracies[self.ask].tolist()
        return found


def workload_of(
    part: Part, mix: str, votes: RecordedVotes, prices: Sequence[PriceSeries], lost_per_h: float, seed: int
) -> Workload:
    """Draw arrivals, what they ask for, and their images, from the votes' rows."""
    rng = np.random.default_rng([seed, part.begin_s])
    arrival_s = part.arrivals_s(rng)
    ask = rng.choice(len(ASKS), p=MIXES[mix], size=len(arrival_s))
    row = rng.integers(len(votes.labels), size=len(arrival_s))
    return Workload(part, mix, arrival_s, ask, row, votes, pools(prices, part.begin_s, lost_per_h), seed)


def pools(prices: Sequence[PriceSeries], begin_s: int, lost_per_h: float) -> list[MachinePool]:
    """Spot and on-demand machines of every size; the clock of the pools is 0 at ``begin_s`` of the prices'."""
    found = []
    for machine, series in zip(MACHINES, prices, strict=True):
        on_demand = MachinePool(machine.name, PriceSeries.constant(machine.on_demand_per_h), machine.start_s)
        bid_per_h = BID_SHARE * machine.on_demand_per_h
        span_s = float(series.at_s[-1]) + float(np.diff(series.at_s[-2:]).sum())
        spot = replace(
            on_demand,
            device=machine.name + SPOT,
            prices=shifted(series, begin_s % max(span_s, 1.0)),
            bid_per_h=bid_per_h,
            lost_per_h=lost_per_h,
        )
        found += [spot, on_demand]
    return found
