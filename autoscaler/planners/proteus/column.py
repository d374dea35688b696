"""The ways in which a worker can be used: what it holds, and what it could serve with that."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

from autoscaler.cluster.capacity import WAITS, capacity_of
from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from dispatch.selection.policy import Candidate


@dataclass(frozen=True)
class Use:
    """A variant answers queries of an endpoint, ``qps`` of them per second if the worker does nothing else."""

    endpoint: str
    variant: str
    accuracy: float
    qps: float


@dataclass(frozen=True)
class Column:
    """What one worker of a device type holds, and the uses it can divide its time between.

    x of Proteus, section 4, counts such workers: devices of one type are alike, so that one integer per type and
    variant stands for a Boolean per device and variant without losing any solution. Batches of a variant are in time
    for an objective of ``within_s``, the shortest of the endpoints that it serves there; None where there are two.
    """

    device: str
    uses: tuple[Use, ...]
    within_s: float | None = None

    @property
    def variants(self) -> frozenset[str]:
        """What the worker holds."""
        return frozenset(use.variant for use in self.uses)


def columns_of(cluster: Cluster, per_worker: int) -> tuple[Column, ...]:
    """All ways that can be part of a best plan, with up to ``per_worker`` variants (1 or 2) on a worker."""
    found: list[Column] = []
    for pool in cluster.pools:
        found += _undominated(_alone(cluster, pool))
        if per_worker > 1:
            found += _pairs(cluster, pool)
    return tuple(found)


def _fitting(cluster: Cluster, pool: Pool) -> Iterator[tuple[Endpoint, Candidate]]:
    for endpoint in cluster.endpoints:
        for candidate in endpoint.candidates.get(pool.device, ()):
            if cluster.memory_bytes.get(candidate.variant, 0) <= pool.memory_bytes:
                yield endpoint, candidate


def _alone(cluster: Cluster, pool: Pool) -> Iterator[Column]:
    """One variant, for all endpoints that it serves (B of section 4), or for those of objectives from one to another.

    A query may wait for a batch of another endpoint of the worker, so that no batch there may take longer than the
    shortest of their objectives allows: the longer ones are served faster apart. Where objectives are the same there is
    nothing to be gained from that.
    """
    served: dict[str, list[tuple[Endpoint, Candidate]]] = {}
    for endpoint, candidate in _fitting(cluster, pool):
        served.setdefault(candidate.variant, []).append((endpoint, candidate))
    for able in served.values():
        for within_s, longest_s in combinations_with_replacement(sorted({endpoint.slo_s for endpoint, _ in able}), 2):
            uses = [
                Use(endpoint.name, candidate.variant, candidate.accuracy, capacity.qps)
                for endpoint, candidate in able
                if within_s <= endpoint.slo_s <= longest_s and (capacity := capacity_of(candidate, within_s))
            ]
            if uses:
                yield Column(pool.device, tuple(uses), within_s)


def fastest(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Enough columns for a plan that serves the most, whatever its accuracy."""
    kept: list[Column] = []
    best: dict[tuple[str, str], Column] = {}
    shared: dict[tuple[str, float | None, tuple[str, ...]], list[Column]] = {}
    for column in columns:
        if len(column.uses) > 1:
            names = tuple(use.endpoint for use in column.uses)
            shared.setdefault((column.device, column.within_s, names), []).append(column)
        else:
            use = column.uses[0]
            known = best.get((column.device, use.endpoint))
            if known is None or use.qps > known.uses[0].qps:
                best[column.device, use.endpoint] = column
    for own in shared.values():
        quickest: list[Column] = []
        for column in sorted(own, key=lambda column: -sum(use.qps for use in column.uses)):
            if not any(_serves_no_less(other, column) for other in quickest):
                quickest.append(column)
        kept += quickest
    return (*best.values(), *kept)


def _serves_no_less(one: Column, other: Column) -> bool:
    """Whether it serves as much of each of the endpoints, which are the same."""
    return all(use.qps >= own.qps for use, own in zip(one.uses, other.uses, strict=True))


def enough(columns: Iterable[Column], demand_qps: Mapping[str, float]) -> tuple[Column, ...]:
    """Without variants that are faster, and less accurate, than one that serves all there is from a single worker.

    The columns of a device type and endpoint must be in the order of their accuracies, as `columns_of` has them.
    """
    kept = []
    sated: set[tuple[str, str]] = set()
    for column in columns:
        if len(column.uses) == 1:
            use = column.uses[0]
            if (column.device, use.endpoint) in sated:
                continue
            if use.qps >= demand_qps.get(use.endpoint, 0.0):
                sated.add((column.device, use.endpoint))
        kept.append(column)
    return tuple(kept)


def _undominated(columns: Iterable[Column]) -> list[Column]:
    """Without variants that another one beats in accuracy and throughput, for the same single endpoint.

    A plan that has one stays feasible, and becomes no worse, with the other in its place.
    """
    several = []
    of_endpoint: dict[str, list[Column]] = {}
    for column in columns:
        if len(column.uses) == 1:
            of_endpoint.setdefault(column.uses[0].endpoint, []).append(column)
        else:
            several.append(column)
    kept = []
    for same in of_endpoint.values():
        fastest_qps = 0.0
        for column in sorted(same, key=lambda c: (-c.uses[0].accuracy, -c.uses[0].qps, c.uses[0].variant)):
            if column.uses[0].qps > fastest_qps:
                kept.append(column)
                fastest_qps = column.uses[0].qps
    return kept + several


def _pairs(cluster: Cluster, pool: Pool) -> Iterator[Column]:
    """Two variants, of two endpoints, that share a worker's memory and time.

    They run by turns, so neither slows the other down. A query may wait for a batch of its own variant that it just
    missed and for one of the other: the shorter of the two objectives must have room for those and its own.
    """
    for (one, first), (other, second) in combinations(_fitting(cluster, pool), 2):
        needed_bytes = sum(cluster.memory_bytes.get(c.variant, 0) for c in (first, second))
        if one is other or first.variant == second.variant or needed_bytes > pool.memory_bytes:
            continue
        slo_s = min(one.slo_s, other.slo_s)
        uses = []
        for endpoint, candidate in ((one, first), (other, second)):
            capacity = capacity_of(candidate, slo_s, waits=WAITS + 1)
            if capacity is not None:
                uses.append(Use(endpoint.name, candidate.variant, candidate.accuracy, capacity.qps))
        if len(uses) == 2:
            yield Column(pool.device, tuple(uses))
