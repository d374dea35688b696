"""The best plan by trying all placements: for each, the best loads are a linear program that scipy solves."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from autoscaler.cluster.cluster import Cluster
from plan_checker import rate

Way = tuple[tuple[str, float, float, float | None], ...]
"""Endpoint, queries per second and accuracy of each use of a worker, and the objective that batches are in time for,
None on workers with two variants."""


@dataclass(frozen=True)
class Best:
    """What the best placement reaches; ``value`` is what is maximised last, ``least`` the worst endpoint's accuracy."""

    served_qps: float
    value: float
    least: float = 0.0


def ways_of(cluster: Cluster, device: str, per_worker: int) -> list[Way]:
    """All ways to use a worker of the device type."""
    pool = next(pool for pool in cluster.pools if pool.device == device)
    fits = [
        (e, c.variant)
        for e in cluster.endpoints
        for c in e.candidates.get(device, ())
        if cluster.memory_bytes.get(c.variant, 0) <= pool.memory_bytes
    ]
    found: list[Way] = []
    for variant in sorted({variant for _, variant in fits}):
        able = [e for e, v in fits if v == variant]
        for chosen in (each for n in range(len(able)) for each in combinations(able, n + 1)):
            slo_s = min(e.slo_s for e in chosen)
            rates = [(e, rate(e, device, variant, 2, slo_s)) for e in chosen]
            if all(own for _, own in rates):
                found.append(tuple((e.name, own.qps, own.accuracy, slo_s) for e, own in rates if own))
    if per_worker > 1:
        for (e, v), (f, w) in combinations(fits, 2):
            if e is f:  # pairs are of two endpoints
                continue
            needed = cluster.memory_bytes.get(v, 0) + cluster.memory_bytes.get(w, 0)
            slo_s = min(e.slo_s, f.slo_s)
            one = rate(e, device, v, 3, slo_s)
            other = rate(f, device, w, 3, slo_s)
            if v != w and needed <= pool.memory_bytes and one and other:
                found.append(((e.name, one.qps, one.accuracy, None), (f.name, other.qps, other.accuracy, None)))
    return found


def placements(
    cluster: Cluster,
    counts: Mapping[str, int],
    per_worker: int = 1,
    pinned: Mapping[tuple[str, str], int] | None = None,
    demanded: Collection[str] = (),
    idle: bool = False,
) -> Iterator[tuple[tuple[str, Way], ...]]:
    """Every multiset of ways on every device type; ``idle`` lets workers hold nothing, which else gains nothing.

    Workers are ``pinned`` to the endpoints they can serve, of those that are ``demanded``. The batches of an endpoint
    are in time for one objective on all workers of a device type that hold one variant.
    """
    options = []
    for device, count in counts.items():
        own: list[tuple[str, Way]] = [(device, w) for w in ways_of(cluster, device, per_worker)]
        sizes = range(count + 1) if idle or pinned is not None or not own else (count,)
        options.append([c for n in sizes for c in combinations_with_replacement(own, n)])
    for chosen in product(*options):
        flat = tuple(each for part in chosen for each in part)
        if _alike(flat) and (pinned is None or _within(flat, pinned, demanded)):
            yield flat


def _alike(placement: tuple[tuple[str, Way], ...]) -> bool:
    within = {(device, name, slo_s) for device, way in placement for name, _, _, slo_s in way if slo_s is not None}
    return len({(device, name) for device, name, _ in within}) == len(within)


def _within(
    placement: tuple[tuple[str, Way], ...], pinned: Mapping[tuple[str, str], int], demanded: Collection[str]
) -> bool:
    placed: dict[tuple[str, str], int] = {}
    for device, way in placement:
        for name in {name for name, *_ in way if name in demanded}:
            placed[device, name] = placed.get((device, name), 0) + 1
    return all(count <= pinned.get(key, 0) for key, count in placed.items())


class Loads:
    """The linear program of one placement: queries per second of each use of each worker."""

    def __init__(self, placement: tuple[tuple[str, Way], ...], demand_qps: Mapping[str, float]) -> None:
        uses = [(worker, *use) for worker, (_, way) in enumerate(placement) for use in way if use[0] in demand_qps]
        self.accuracy = np.array([use[3] for use in uses])
        self.demand_qps = demand_qps
        rows = np.zeros((len(placement) + len(demand_qps), len(uses)))
        self.of = np.zeros((len(demand_qps), len(uses)))
        for column, (worker, name, qps, *_) in enumerate(uses):
            rows[worker, column] = 1 / qps
            self.of[list(demand_qps).index(name), column] = 1.0
        rows[len(placement) :] = self.of
        self.rows = rows
        self.limits = np.array([1.0] * len(placement) + list(demand_qps.values()))

    def most(
        self, weights: NDArray[np.float64], served_qps: float = 0.0, least: Mapping[str, float] | None = None
    ) -> float | None:
        """The most of ``weights`` times loads that can be had with so much served and no endpoint under ``least``."""
        if not len(weights):
            return 0.0 if served_qps <= 0 and not any((least or {}).values()) else None
        rows, limits = [self.rows, -np.ones((1, len(weights)))], [self.limits, [-served_qps]]
        if least is not None:
            rows.append(-self.of * self.accuracy)
            limits.append([-least.get(name, 0.0) * qps for name, qps in self.demand_qps.items()])
        found = linprog(-weights, A_ub=np.vstack(rows), b_ub=np.concatenate(limits))
        return -found.fun if found.success else None

    def fairest(self, served_qps: float, counted: Collection[str]) -> float:
        """The highest accuracy that each endpoint that is ``counted`` can have per query of its demand."""
        if not len(self.accuracy):
            return 0.0
        demand = np.array([qps if name in counted else 0.0 for name, qps in self.demand_qps.items()])
        rows = np.block(
            [
                [self.rows, np.zeros((len(self.rows), 1))],
                [-np.ones((1, len(self.accuracy))), np.zeros((1, 1))],
                [-self.of * self.accuracy, demand[:, None]],
            ]
        )
        limits = np.concatenate([self.limits, [-served_qps], np.zeros(len(demand))])
        bounds = [(0.0, None)] * len(self.accuracy) + [(0.0, 1.0)]
        found = linprog(np.array([0.0] * len(self.accuracy) + [-1.0]), A_ub=rows, b_ub=limits, bounds=bounds)
        return -found.fun if found.success else -1.0


def best_of(
    cluster: Cluster,
    counts: Mapping[str, int],
    demand_qps: Mapping[str, float],
    *,
    per_worker: int = 1,
    pinned: Mapping[tuple[str, str], int] | None = None,
    fair: bool = False,
    price: Mapping[str, float] | None = None,
) -> Best:
    """First the most that can be served, then (``fair``) the best worst endpoint, then the sum of accuracy.

    Endpoints that nobody can serve do not count for ``fair``. ``price`` of a worker by device type is in accuracy times
    queries per second, and taken off at the end.
    """
    demand_qps = {name: qps for name, qps in demand_qps.items() if qps > 0}
    tried = [
        (placement, Loads(placement, demand_qps))
        for placement in placements(cluster, counts, per_worker, pinned, demand_qps, bool(price))
    ]
    served = [loads.most(np.ones(len(loads.accuracy))) or 0.0 for _, loads in tried]
    goal = max(served) * (1 - 1e-9)
    left = [each for each, qps in zip(tried, served, strict=True) if qps >= goal]
    counted = {name for placement, _ in tried for _, way in placement for name, *_ in way} & demand_qps.keys()
    least = max(loads.fairest(goal * (1 - 1e-9), counted) for _, loads in left) if fair else 0.0
    values = []
    for placement, loads in left:
        value = loads.most(loads.accuracy, goal * (1 - 1e-9), dict.fromkeys(counted, least * (1 - 1e-9)))
        if value is not None:
            values.append(value - sum((price or {}).get(device, 0.0) for device, _ in placement))
    return Best(max(served), max(values), least)
