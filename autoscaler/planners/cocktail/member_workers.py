"""Which of the workers that are there a member keeps, and what it takes beside them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil, inf, prod

from autoscaler.planners.cocktail.procurement import NEGLIGIBLE, Offer, procure

MOST_WAYS = 512
"""Ways to keep some of a member's workers that are all compared; where there are more, one device type is at a time."""


@dataclass(frozen=True)
class Market:
    """What a worker of each device type costs, how many more there may be, and what each bears of each variant.

    A worker that is there counts ``keep`` of its price, so that workers are not replaced for small savings. One of a
    device type without ``growth`` cannot be given back and costs nothing. Memory is by variant, and the limit by device
    type; a variant without any takes none.
    """

    prices_per_h: Mapping[str, float]
    growth: Mapping[str, int]
    capacities_qps: Mapping[tuple[str, str], float]
    keep: float
    memory_bytes: Mapping[str, int] = field(default_factory=dict)
    limit_bytes: Mapping[str, float] = field(default_factory=dict)

    def hold_together(self, device: str, variants: Collection[str]) -> bool:
        """Whether a worker can run each of the variants, and has the memory for all."""
        needed_bytes = sum(self.memory_bytes.get(variant, 0) for variant in variants)
        able = all((device, variant) in self.capacities_qps for variant in variants)
        return able and needed_bytes <= self.limit_bytes.get(device, inf)

    def offers(self, variant: str, growth: Mapping[str, int]) -> list[Offer]:
        """New workers for a variant, of each device type as many as ``growth`` has."""
        return [
            Offer(device, price, qps, growth.get(device, 0))
            for device, price in self.prices_per_h.items()
            if growth.get(device, 0) > 0 and (qps := self.capacities_qps.get((device, variant)))
        ]

    def price_there_per_h(self, device: str) -> float:
        """What keeping a worker counts."""
        return self.prices_per_h.get(device, 0.0) * self.keep if device in self.growth else 0.0


def kept(variant: str, load_qps: float, own: Sequence[str], market: Market) -> tuple[int, ...]:
    """How many workers of each device type in ``own``, without repeats sorted, a member with this load keeps.

    The way that is cheapest together with what it takes to procure the rest; of equals, the one with the fewest workers
    in all, and of those the one that keeps the most. Where there are more than `MOST_WAYS`, the dearest per query go
    first while the others bear the load, and then the number of each device type in turn is what is cheapest with the
    others as they are.
    """
    devices = sorted(set(own))
    there = [own.count(device) for device in devices]
    offers = market.offers(variant, market.growth)
    qps = [market.capacities_qps.get((device, variant), 0.0) for device in devices]
    prices = [market.price_there_per_h(device) for device in devices]

    def cost(counts: Sequence[int]) -> tuple[float, float, int, int]:
        borne_qps = sum(count * each for count, each in zip(counts, qps, strict=True))
        bought = procure(max(load_qps - borne_qps, 0.0), offers)
        spent = sum(count * price for count, price in zip(counts, prices, strict=True))
        more = sum(number for _, number in bought.workers)
        return bought.missing_qps, spent + bought.cost_per_h, sum(counts) + more, more

    if prod(count + 1 for count in there) <= MOST_WAYS:
        return min(product(*(range(count, -1, -1) for count in there)), key=cost)
    return _improved(_without_the_dearest(load_qps, there, qps, prices), there, cost)


def _without_the_dearest(
    load_qps: float, there: Sequence[int], qps: Sequence[float], prices: Sequence[float]
) -> tuple[int, ...]:
    """As few of the dearest per query as bear the load together with all others, then of the next."""
    counts = list(there)
    dear = sorted(range(len(there)), key=lambda i: (-prices[i] / qps[i] if qps[i] else -inf, -i))
    for i in dear:
        others_qps = sum(count * each for j, (count, each) in enumerate(zip(counts, qps, strict=True)) if j != i)
        needed = ceil((load_qps - others_qps) / qps[i] - NEGLIGIBLE) if qps[i] else 0
        counts[i] = min(max(needed, 0), there[i])
    return tuple(counts)


def _improved(
    counts: tuple[int, ...], there: Sequence[int], cost: Callable[[Sequence[int]], tuple[float, float, int, int]]
) -> tuple[int, ...]:
    """The counts with each device type's changed to what is cheapest, in turn until none is cheaper."""
    while True:
        before = counts
        for i, most in enumerate(there):
            ways = [(*counts[:i], count, *counts[i + 1 :]) for count in range(most, -1, -1)]
            counts = min((counts, *ways), key=cost)
        if counts == before:
            return counts
