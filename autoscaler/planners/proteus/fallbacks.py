"""Faster variants beside the planned ones: what a worker falls back to when a burst comes between two plans."""

from collections.abc import Mapping
from dataclasses import replace

from autoscaler.cluster.capacity import capacity_of
from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from dispatch.selection.policy import Candidate

NOTHING: frozenset[str] = frozenset()


def with_fallbacks(cluster: Cluster, observation: Observation, plan: ClusterPlan, most: int) -> ClusterPlan:
    """The plan with up to ``most`` faster variants of their endpoints on the workers that have a share.

    As many as the memory of a worker holds beside what is planned there. Endpoints that share a worker are served in
    turn. ``burst_qps`` of the plan is what the workers of each endpoint bear with the fastest that they are to hold,
    their time divided as the plan divides it.
    """
    if not most:
        return plan
    endpoints = {endpoint.name: endpoint for endpoint in cluster.endpoints}
    pools = {pool.device: pool for pool in cluster.pools}
    fallback: dict[str, tuple[str, ...]] = {}
    burst_qps = dict.fromkeys(plan.demand_qps, 0.0)
    for worker, held in plan.held.items():
        device = observation.devices.get(worker, worker.rpartition("+")[0])
        served = [endpoints[name] for name, shares in plan.shares.items() if shares.get(worker)]
        if not served or device not in pools:
            continue
        beside = _beside(cluster, pools[device], served, held, most)
        if beside:
            fallback[worker] = beside
        for name, qps in _bursts(plan, worker, device, served, held | frozenset(beside)).items():
            burst_qps[name] += qps
    if not fallback:
        return replace(plan, burst_qps=burst_qps)
    words = ", ".join(f"{name} {qps:.3g} queries/s" for name, qps in burst_qps.items() if qps)
    told = f"Until the next plan workers fall back to faster variants in bursts, and bear {words} so."
    report = replace(plan.report, explanation=(*plan.report.explanation, told))
    return replace(plan, fallback=fallback, burst_qps=burst_qps, report=report)


def _beside(cluster: Cluster, pool: Pool, served: list[Endpoint], held: frozenset[str], most: int) -> tuple[str, ...]:
    """What a worker is to hold beside ``held``, the first to be loaded first."""
    wanted = [iter(_faster(endpoint, pool.device, held, most)) for endpoint in served]
    left_bytes = pool.memory_bytes - sum(cluster.memory_bytes.get(variant, 0) for variant in held)
    found: list[str] = []
    while wanted and len(found) < most:
        variants = wanted.pop(0)
        for variant in variants:
            needed_bytes = cluster.memory_bytes.get(variant, 0)
            if variant not in found and needed_bytes <= left_bytes:
                found.append(variant)
                left_bytes -= needed_bytes
                wanted.append(variants)
                break
    return tuple(found)


def _faster(endpoint: Endpoint, device: str, held: frozenset[str], most: int) -> list[str]:
    """The endpoint's variants that are faster than the planned one and of use, in the order in which they are wanted.

    The fastest comes first, which is what a burst takes; then those that halve the distance in accuracy to the planned
    one again and again, so that a small burst costs little. The rest follows, the most accurate first.
    """
    rates = _rates(endpoint, device)
    planned = [rates[variant] for variant in held if variant in rates]
    if not planned:
        return []
    accuracy, qps = max(planned)
    useful: list[tuple[float, float, str]] = []
    for variant, (own_accuracy, own_qps) in sorted(rates.items(), key=lambda item: (-item[1][0], -item[1][1])):
        if own_accuracy <= accuracy and own_qps > max(qps, *(each[1] for each in useful), 0.0):
            useful.append((own_accuracy, own_qps, variant))
    if not useful:
        return []
    order = [useful.pop()]
    while useful and len(order) < most:
        middle = (accuracy + order[-1][0]) / 2
        nearest = min(useful, key=lambda each: abs(each[0] - middle))
        useful.remove(nearest)
        order.append(nearest)
    return [variant for _, _, variant in order + useful]


def _rates(endpoint: Endpoint, device: str) -> dict[str, tuple[float, float]]:
    """By variant its accuracy and queries per second, of those that are in time."""
    candidates: tuple[Candidate, ...] = endpoint.candidates.get(device, ())
    return {
        candidate.variant: (candidate.accuracy, capacity.qps)
        for candidate in candidates
        if (capacity := capacity_of(candidate, endpoint.slo_s)) is not None
    }


def _bursts(
    plan: ClusterPlan, worker: str, device: str, served: list[Endpoint], holds: frozenset[str]
) -> Mapping[str, float]:
    """By endpoint what a worker bears with the fastest of what it ``holds``; its time is divided as in the plan."""
    busy: dict[str, float] = {}
    fastest: dict[str, float] = {}
    for endpoint in served:
        rates = {variant: qps for variant, (_, qps) in _rates(endpoint, device).items() if variant in holds}
        if not rates:
            continue
        planned_qps = max((rates[v] for v in plan.held[worker] if v in rates), default=max(rates.values()))
        busy[endpoint.name] = plan.shares[endpoint.name][worker] * plan.demand_qps[endpoint.name] / planned_qps
        fastest[endpoint.name] = max(rates.values())
    total = sum(busy.values())
    return {name: fastest[name] * part / total for name, part in busy.items()} if total else {}
