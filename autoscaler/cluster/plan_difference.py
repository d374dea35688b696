"""What changes from one cluster plan to another, as figures and in words."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from autoscaler.cluster.plan import ClusterPlan


@dataclass(frozen=True)
class WorkerChange:
    """Variants that a worker holds after and not before, and the other way round; sorted."""

    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class EndpointFigures:
    """What a plan says of one endpoint, all 0 where it does not know it.

    ``accuracy`` is None where nothing is said; so are ``served_qps``, ``capacity_qps`` and ``shed`` of a plan for no
    load. ``shed`` is the part of the demand that is not served, 0 to 1.
    ``shares`` are the parts of its queries by what the workers hold that get them, names joined with ``+``.
    """

    demand_qps: float
    served_qps: float | None
    capacity_qps: float | None
    accuracy: float | None
    shed: float | None
    shares: Mapping[str, float]


@dataclass(frozen=True)
class EndpointChange:
    """One endpoint in both plans."""

    before: EndpointFigures
    after: EndpointFigures


@dataclass(frozen=True)
class PoolChange:
    """Numbers of workers."""

    before: int
    after: int


@dataclass(frozen=True)
class PlanDifference:
    """Workers, endpoints and pools that are not the same in both plans, by name; all empty where the plans agree.

    ``came`` and ``gone`` have workers that hold something in one of the plans only, with what they hold there.
    """

    workers: Mapping[str, WorkerChange]
    came: Mapping[str, tuple[str, ...]]
    gone: Mapping[str, tuple[str, ...]]
    endpoints: Mapping[str, EndpointChange]
    pools: Mapping[str, PoolChange]

    def to_record(self) -> dict[str, Any]:
        """The same as nested dicts, for JSON."""
        return asdict(self)

    def lines(self) -> tuple[str, ...]:
        """One plain sentence for each change; none for figures that read the same before and after."""
        return tuple(_lines(self))


def difference(before: ClusterPlan, after: ClusterPlan) -> PlanDifference:
    """Compare two plans; how they were solved does not matter."""
    held = {worker: (before.held.get(worker), after.held.get(worker)) for worker in _both(before.held, after.held)}
    endpoints = {
        name: EndpointChange(_figures(before, name), _figures(after, name))
        for name in _both(before.demand_qps, after.demand_qps)
    }
    pools = {
        name: PoolChange(before.pool_sizes.get(name, 0), after.pool_sizes.get(name, 0))
        for name in _both(before.pool_sizes, after.pool_sizes)
    }
    return PlanDifference(
        {
            worker: WorkerChange(tuple(sorted(new - old)), tuple(sorted(old - new)))
            for worker, (old, new) in held.items()
            if old is not None and new is not None and old != new
        },
        {worker: tuple(sorted(new)) for worker, (old, new) in held.items() if old is None and new is not None},
        {worker: tuple(sorted(old)) for worker, (old, new) in held.items() if new is None and old is not None},
        {name: change for name, change in endpoints.items() if change.before != change.after},
        {name: change for name, change in pools.items() if change.before != change.after},
    )


def _both(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(before.keys() | after.keys())


def _figures(plan: ClusterPlan, name: str) -> EndpointFigures:
    shares: dict[str, float] = {}
    for worker, share in sorted(plan.shares.get(name, {}).items()):
        kind = "+".join(sorted(plan.held.get(worker, ())))
        shares[kind] = shares.get(kind, 0.0) + share
    demand_qps, served_qps = plan.demand_qps.get(name, 0.0), plan.served_qps.get(name, 0.0)
    if plan.for_no_load:
        return EndpointFigures(demand_qps, None, None, plan.accuracy.get(name), None, shares)
    return EndpointFigures(
        demand_qps,
        served_qps,
        plan.capacity_qps.get(name, 0.0),
        plan.accuracy.get(name),
        1.0 - served_qps / demand_qps if demand_qps else 0.0,
        shares,
    )


def _lines(changed: PlanDifference) -> Iterator[str]:
    for name, pool in changed.pools.items():
        yield f"Workers of {name}: {pool.after} instead of {pool.before}."
    for name, change in changed.endpoints.items():
        before, after = change.before, change.after
        words = [
            f"{what} {new} instead of {old}"
            for what, old, new in (
                ("demand", _qps(before.demand_qps), _qps(after.demand_qps)),
                ("served", _qps(before.served_qps), _qps(after.served_qps)),
                ("capacity", _qps(before.capacity_qps), _qps(after.capacity_qps)),
                ("shed", _percent(before.shed), _percent(after.shed)),
                ("expected accuracy", _percent(before.accuracy, 2), _percent(after.accuracy, 2)),
            )
            if old != new
        ]
        if words:
            yield f"{name}: {', '.join(words)}."
        parts = [
            f"{kind} {new} instead of {old}"
            for kind in _both(before.shares, after.shares)
            if (old := _percent(before.shares.get(kind, 0.0))) != (new := _percent(after.shares.get(kind, 0.0)))
        ]
        if parts:
            yield f"Of the queries of {name}: {', '.join(parts)}."
    for worker, own in changed.workers.items():
        steps = [f"{verb} {', '.join(names)}" for verb, names in (("gains", own.gained), ("loses", own.lost)) if names]
        yield f"{worker} {' and '.join(steps)}."
    for worker, variants in changed.came.items():
        yield f"{worker} comes in with {', '.join(variants) or 'nothing'}."
    for worker, variants in changed.gone.items():
        yield f"{worker} drops out; it held {', '.join(variants) or 'nothing'}."


def _qps(qps: float | None) -> str:
    if qps is None:
        return "unknown"
    return f"{qps:.1f} queries/s" if qps < 10 else f"{qps:.0f} queries/s"


def _percent(part: float | None, digits: int = 1) -> str:
    return "unknown" if part is None else f"{part:.{digits}%}"
