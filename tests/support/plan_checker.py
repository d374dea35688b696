"""Whether a plan keeps Eq. 1 to 6 of Proteus, section 4, worked out worker by worker with no code of the planner's."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import permutations, product
from math import isclose

from autoscaler.cluster.cluster import Cluster, Endpoint
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Rate:
    """P and A of section 4: queries per second of a worker that does nothing else, and their accuracy."""

    qps: float
    accuracy: float


def rate(endpoint: Endpoint, device: str, variant: str, waits: int = 2, slo_s: float | None = None) -> Rate | None:
    """Of the largest batch that fits the objective ``waits`` times; None where the variant cannot serve in time."""
    for candidate in endpoint.candidates.get(device, ()):
        if candidate.variant == variant:
            limit_s = (endpoint.slo_s if slo_s is None else slo_s) * (1 + 1e-9)
            sizes = [n for n in range(1, candidate.max_batch + 1) if candidate.latency_s[n] * waits <= limit_s]
            if sizes:
                return Rate(sizes[-1] / candidate.latency_s[sizes[-1]], candidate.accuracy)
    return None


def ways(
    cluster: Cluster, device: str, variants: frozenset[str], users: Collection[str] | None = None
) -> list[dict[str, list[Rate]]]:
    """What a worker that holds ``variants`` can do: by endpoint the rates to choose from.

    One variant serves all its endpoints, in batches that are in time for all ``users`` where these are given. Two serve
    one endpoint each, which may be the same, and every query may have to wait for a batch of the other as well.
    """
    if len(variants) == 1:
        (variant,) = variants
        slo_s = min((e.slo_s for e in cluster.endpoints if e.name in (users or ())), default=None)
        found = {
            e.name: own
            for e in cluster.endpoints
            if (own := rate(e, device, variant, 2, slo_s if e.name in (users or ()) else None)) is not None
        }
        return [{name: [own] for name, own in found.items()}]
    possible = []
    for one, other in permutations(sorted(variants)):
        for first, second in product(cluster.endpoints, repeat=2):
            slo_s = min(first.slo_s, second.slo_s)
            rates = [rate(e, device, variant, 3, slo_s) for e, variant in ((first, one), (second, other))]
            if rates[0] is not None and rates[1] is not None:
                way: dict[str, list[Rate]] = {first.name: [rates[0]]}
                way.setdefault(second.name, []).append(rates[1])
                possible.append(way)
    return possible


def broken(
    cluster: Cluster,
    observation: Observation,
    plan: ClusterPlan,
    *,
    per_worker: int = 1,
    overloaded: bool = False,
) -> list[str]:
    """What is wrong with the plan, in words; nothing, it is to be hoped.

    ``overloaded`` is for planners whose workers may get more than they can serve: they serve what they can of it.
    """
    wrong: list[str] = []
    pools = {pool.device: pool for pool in cluster.pools}
    devices = {worker: device for worker, device in observation.devices.items() if device in pools}
    for worker in {*plan.held, *(w for shares in plan.shares.values() for w in shares)} - devices.keys():
        device, plus, number = worker.rpartition("+")
        if worker in observation.devices or not plus or not number.isdigit() or device not in pools:
            wrong.append(f"nobody knows worker {worker}")
        elif pools[device].max_workers is None:
            wrong.append(f"worker {worker} is to come to a pool of a fixed size")
        devices[worker] = device
    if any(words.startswith("nobody") for words in wrong):
        return wrong
    for device, pool in pools.items():
        there = sum(of == device for of in observation.devices.values())
        named = sum(devices[worker] == device for worker in plan.held)
        size = plan.pool_sizes.get(device, 0)
        if pool.max_workers is None and size != there:
            wrong.append(f"pool {device} has {there} workers, the plan says {size}")
        if pool.max_workers is not None and not named == size <= pool.max_workers:
            wrong.append(f"pool {device} may have {pool.max_workers}, the plan says {size} and names {named}")
        if named > size:
            wrong.append(f"pool {device} has {size} workers, the plan names {named}")
    for endpoint in cluster.endpoints:
        if plan.demand_qps.get(endpoint.name, 0.0) != observation.demand_qps.get(endpoint.name, 0.0):
            wrong.append(f"the plan is for another demand of {endpoint.name}")
    served = dict.fromkeys(plan.demand_qps, 0.0)
    lowest, highest = dict(served), dict(served)
    for worker, variants in plan.held.items():
        own = {name: shares[worker] for name, shares in plan.shares.items() if shares.get(worker, 0.0) > 0.0}
        if not own and variants == observation.held.get(worker):
            continue  # it keeps what it has, and nobody asks it
        needed_bytes = sum(cluster.memory_bytes.get(variant, 0) for variant in variants)
        if not 1 <= len(variants) <= per_worker:  # Eq. 1
            wrong.append(f"{worker} holds {len(variants)} variants")
        if needed_bytes > pools[devices[worker]].memory_bytes:
            wrong.append(f"{worker} has no room for {sorted(variants)}")
        load = {name: share * plan.demand_qps[name] for name, share in own.items()}
        possible = ways(cluster, devices[worker], variants, None if overloaded else own)
        fits = [way for way in possible if load.keys() <= way.keys()]  # Eq. 3
        if not fits:
            wrong.append(f"{worker} with {sorted(variants)} cannot serve {sorted(load)}")
            continue
        best = min(fits, key=lambda way: sum(z / max(r.qps for r in way[name]) for name, z in load.items()))
        busy = sum(z / max(r.qps for r in best[name]) for name, z in load.items())
        if busy > 1 + TOLERANCE and not overloaded:  # Eq. 5, for a worker that divides its time
            wrong.append(f"{worker} is busy {busy:.6f} of the time")
        at_most = sum(
            share * plan.capacity_qps[name] / max(r.qps for r in best[name])
            for name, share in own.items()
            if name in best
        )
        if at_most > 1 + TOLERANCE and not overloaded:
            wrong.append(f"{worker} is busy {at_most:.6f} of the time under the load that there is said to be room for")
        for name, z in load.items():  # Eq. 4
            served[name] += z / max(busy, 1.0) if overloaded else z
            lowest[name] += z / max(busy, 1.0) * min(r.accuracy for way in fits for r in way[name])
            highest[name] += z / max(busy, 1.0) * max(r.accuracy for way in fits for r in way[name])
    for name, shares in plan.shares.items():
        if not all(0.0 <= share <= 1 + TOLERANCE for share in shares.values()):
            wrong.append(f"a share of {name} is not within 0 and 1")
        if sum(shares.values()) > 1 + TOLERANCE:  # Eq. 2
            wrong.append(f"the shares of {name} are {sum(shares.values())} in sum")
        if set(shares) - set(plan.held):
            wrong.append(f"{sorted(set(shares) - set(plan.held))} hold nothing and get a share of {name}")
    wrong += _misreported(plan, served, lowest, highest)
    return wrong


def _misreported(
    plan: ClusterPlan, served: Mapping[str, float], lowest: Mapping[str, float], highest: Mapping[str, float]
) -> list[str]:
    """Figures of the plan that are not those of its workers (Eq. 6 where nothing is shed)."""
    wrong = []
    for name, qps in plan.demand_qps.items():
        if not isclose(plan.served_qps[name], served[name], rel_tol=TOLERANCE, abs_tol=TOLERANCE * qps):
            wrong.append(f"{name}: {plan.served_qps[name]} served, its workers serve {served[name]}")
        if (name in plan.accuracy) != (plan.served_qps[name] > 0):
            wrong.append(f"{name}: an accuracy without anything served, or the other way round")
        if name in plan.accuracy and served[name] > 0:
            least, most = lowest[name] / served[name], highest[name] / served[name]
            if not least - TOLERANCE <= plan.accuracy[name] <= most + TOLERANCE:
                wrong.append(f"{name}: accuracy {plan.accuracy[name]}, its workers give {least} to {most}")
    if any(qps > 0 and name not in plan.accuracy for name, qps in plan.served_qps.items()):
        return wrong
    total, demand = sum(plan.served_qps.values()), sum(plan.demand_qps.values())
    if demand and not isclose(plan.shed, 1 - total / demand, abs_tol=TOLERANCE):
        wrong.append(f"{plan.shed} is shed, not {1 - total / demand}")
    if (plan.effective_accuracy is None) != (total == 0):
        wrong.append("an effective accuracy without anything served, or the other way round")
    if total:
        mean = sum(plan.accuracy.get(name, 0.0) * qps for name, qps in plan.served_qps.items()) / total
        if plan.effective_accuracy is None or not isclose(plan.effective_accuracy, mean, abs_tol=TOLERANCE):
            wrong.append(f"effective accuracy {plan.effective_accuracy}, not {mean}")
    return wrong
