"""Which workers to take for a load, where they differ in price and in what they bear."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

NEGLIGIBLE = 1e-9
"""Of a load, against rounding."""


@dataclass(frozen=True)
class Offer:
    """Workers of one kind that can be had: ``most`` of them, each at ``price_per_h``, which bear ``qps`` each."""

    kind: str
    price_per_h: float
    qps: float
    most: float = inf

    def cost_per_qps(self, load_qps: float) -> float:
        """Cost_i * A_n / P_f,i of Cocktail, section 4.2.1, in whole workers and per query of the load that they bear.

        Where there are enough, this orders offers as the paper's term does.
        """
        workers = min(max(ceil(load_qps / self.qps - NEGLIGIBLE), 1), self.most)
        return self.price_per_h * workers / min(load_qps, workers * self.qps)


@dataclass(frozen=True)
class Purchase:
    """Workers by kind, what they cost, and what of the load they do not bear."""

    workers: tuple[tuple[str, int], ...]
    cost_per_h: float
    missing_qps: float


def procure(load_qps: float, offers: Sequence[Offer]) -> Purchase:
    """Take greedily what bears the load at the least cost: all workers of it that are filled, and again for the rest.

    Of equals, what takes the fewest whole workers, and of those the first offer. The last worker may be of a smaller
    kind than the others.
    """
    left = {offer.kind: offer.most for offer in offers}
    taken: dict[str, int] = {}
    cost_per_h, missing_qps = 0.0, load_qps
    while missing_qps > NEGLIGIBLE * max(load_qps, 1.0):
        open_offers = [Offer(o.kind, o.price_per_h, o.qps, left[o.kind]) for o in offers if left[o.kind] >= 1]
        if not open_offers:
            break
        best = min(open_offers, key=lambda o: (o.cost_per_qps(missing_qps), ceil(missing_qps / o.qps - NEGLIGIBLE)))
        workers = int(min(max(missing_qps // best.qps, 1), best.most))
        taken[best.kind] = taken.get(best.kind, 0) + workers
        left[best.kind] -= workers
        cost_per_h += workers * best.price_per_h
        missing_qps -= workers * best.qps
    return Purchase(tuple(taken.items()), cost_per_h, max(missing_qps, 0.0))
