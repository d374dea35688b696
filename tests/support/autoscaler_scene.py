"""Small clusters for planners: by hand, and at random."""

from collections.abc import Mapping
from math import inf

import numpy as np
from hypothesis import strategies as st

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from dispatch.selection.policy import Candidate
from dispatch.worker_info import workers_of


def linear(variant: str, accuracy: float, fixed_s: float, row_s: float, rows: int = 8) -> Candidate:
    """A candidate whose batches take ``fixed_s`` and ``row_s`` for each row."""
    return Candidate(variant, accuracy, (0.0, *(fixed_s + row_s * n for n in range(1, rows + 1))))


def even(variant: str, accuracy: float, qps: float) -> Candidate:
    """A candidate that serves exactly so many queries per second, one at a time."""
    return Candidate(variant, accuracy, (0.0, 1.0 / qps))


def endpoint(name: str, *candidates: Candidate, slo_s: float = 1.0, device: str = "cpu") -> Endpoint:
    return Endpoint(name, slo_s, {device: candidates})


def cluster(*endpoints: Endpoint, pool: Pool | None = None) -> Cluster:
    return Cluster(endpoints, (pool or Pool("cpu"),))


def workers(**counts: int) -> dict[str, str]:
    """So many workers of each device type: ``cpu=2`` are cpu-0 and cpu-1."""
    return {f"{device}-{number}": device for device, count in counts.items() for number in range(count)}


def observed(
    demand_qps: Mapping[str, float],
    there: Mapping[str, str],
    held: Mapping[str, frozenset[str]] | None = None,
) -> Observation:
    return Observation(0.0, demand_qps, workers_of(there), held or {})


def held(**variants: str) -> dict[str, frozenset[str]]:
    """By worker, with spaces between the variants; ``_`` in a worker's name stands for ``-``."""
    return {worker.replace("_", "-"): frozenset(each.split()) for worker, each in variants.items()}


SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)
"""Sources of chance for what follows: every example is as rich as the next, which drawing piece by piece is not."""


def some_cluster(
    rng: np.random.Generator,
    *,
    device_types: int = 3,
    endpoints: int = 3,
    variants: int = 3,
    memory: bool = False,
    sharing: bool = True,
) -> Cluster:
    """Slower variants are mostly more accurate; some devices lack them, and some endpoints have none in time.

    Unless ``sharing`` is False, two endpoints may have variants in common.
    """
    devices = [f"dev{number}" for number in range(rng.integers(1, device_types + 1))]
    made = []
    for number in range(rng.integers(1, endpoints + 1)):
        slo_s = float(rng.choice((0.004, 0.05, 0.1, 0.3), p=(0.07, 0.31, 0.31, 0.31)))
        made.append(Endpoint(f"e{number}", slo_s, _candidates(rng, f"e{number}", devices, variants)))
    if sharing and len(made) > 1 and rng.random() < 0.3:
        made[1] = _sharing(made[0], made[1])
    names = sorted({c.variant for e in made for own in e.candidates.values() for c in own})
    sizes = {name: int(rng.integers(1, 4)) for name in names} if memory else {}
    pools = tuple(Pool(device, float(rng.choice((3.0, 5.0, inf))) if memory else inf) for device in devices)
    return Cluster(tuple(made), pools, sizes)


def _candidates(
    rng: np.random.Generator, name: str, devices: list[str], variants: int
) -> dict[str, tuple[Candidate, ...]]:
    count = rng.integers(1, variants + 1)
    accuracy = np.sort(rng.uniform(0.4, 1.0, count)).round(3)
    found: dict[str, tuple[Candidate, ...]] = {}
    for device in devices:
        speed = rng.choice((0.5, 1.0, 3.0))
        if rng.random() < 0.9:
            found[device] = tuple(
                linear(
                    f"{name}{number}",
                    float(accuracy[number]),
                    float(rng.uniform(0.0, 0.012) * (number + 1) / speed),
                    float(rng.uniform(0.001, 0.012) * (number + 1) / speed),
                    int(rng.integers(1, 9)),
                )
                for number in range(count)
                if rng.random() < 0.9
            )
    return found


def _sharing(one: Endpoint, other: Endpoint) -> Endpoint:
    """The other endpoint with the variants of the first as well (B of Proteus, section 4, with more than one 1)."""
    both = {
        device: one.candidates.get(device, ()) + other.candidates.get(device, ())
        for device in {**one.candidates, **other.candidates}
    }
    return Endpoint(other.name, other.slo_s, both)


def some_observation(
    rng: np.random.Generator, cluster: Cluster, *, most_workers: int = 3, least_qps: float = 0.0
) -> Observation:
    """Demands from nothing to far more than can be served, and workers that hold something already.

    ``least_qps`` is the least of the demands that are not 0.
    """
    there = workers(**{pool.device: int(rng.integers(0, most_workers + 1)) for pool in cluster.pools})
    scale_qps = rng.choice((1e-6, 1.0, 30.0, 100.0, 300.0, 1e4), p=(0.05, 0.1, 0.25, 0.25, 0.25, 0.1))
    demand_qps = {
        each.name: float(scale_qps * rng.choice((0.0, 1e-9, 1e-3, 0.1, 1.0), p=(0.07, 0.07, 0.06, 0.3, 0.5)))
        * float(rng.uniform(0.1, 1.0))
        for each in cluster.endpoints
    }
    demand_qps = {name: max(qps, least_qps) if qps else 0.0 for name, qps in demand_qps.items()}
    names = sorted({c.variant for e in cluster.endpoints for own in e.candidates.values() for c in own})
    holding = {worker: frozenset((str(rng.choice((*names, "gone"))),)) for worker in there if rng.random() < 0.6}
    return Observation(0.0, demand_qps, workers_of(there), holding)
