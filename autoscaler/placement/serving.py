"""From the planner's plan to what the dispatcher serves, live and in the simulator."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from autoscaler.cluster.capacity import ALONE, WAITS, limited, up_to
from autoscaler.cluster.cluster import Cluster
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.placement.slowed import largest_factors, running_slowdowns, slowed
from autoscaler.placement.stage_service import StageService, stage_services
from dispatch.balancing.balancer import LoadBalancer
from dispatch.balancing.overflow_shares import OverflowShares
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import ONLY_STAGE
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.selection.ramsis.policy import RamsisSelection
from dispatch.table_plan import with_selection

NO_SLOWDOWNS: Mapping[str, Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True)
class Service:
    """How one endpoint is served under a plan: what is not here stays as the application was built.

    ``candidates`` are by device type, or by pool, with no larger batches than are in time; each stage of the endpoint
    has those of them that it was built for. ``shares`` are by worker and of all the endpoint's queries, wherever they
    arrive; None where the endpoint's own balancer decides. Workers of one of ``kinds`` hold the same for the same
    endpoints and are alike to a query. Where ``stages`` are given, those have candidates of their own.
    With ``overflow`` workers have fallback variants, and what is too much for one goes to others.
    """

    limits: EndpointLimits
    candidates: Mapping[str, tuple[Candidate, ...]]
    shares: Mapping[str, float] | None
    kinds: Mapping[str, str]
    stages: Mapping[str, StageService] = field(default_factory=dict)
    overflow: bool = False

    @property
    def variants(self) -> frozenset[str]:
        """All that workers may be asked to run for it."""
        of_stages = (own for stage in self.stages.values() for own in stage.candidates.values())
        return frozenset(name for own in (*self.candidates.values(), *of_stages) for each in own for name in each.needs)


def services(
    cluster: Cluster, plan: ClusterPlan, workers: Mapping[str, str], limits: Mapping[str, EndpointLimits]
) -> dict[str, Service]:
    """Every endpoint with the batches that its objective allows, and its shares of the workers.

    ``workers`` maps worker id to device type. Workers of one type that hold the same for the same endpoints are alike
    to a query: its share says which kind it goes to, and of those it goes to the one with the least to do. On a device
    type where endpoints share workers, their batches leave room for each other's. An endpoint with its own balancing
    has its batches within the objective, however long others wait. Where a plan has slowdowns, batches take as much
    longer as on the worker of the device type with the largest; a candidate that is in time on none of them then, and
    would be without neighbours, keeps the batches that it would have without: some workers of the type have none, and
    late on others is better than nobody to ask on all.
    """
    alone = {endpoint.name: endpoint.candidates for endpoint in cluster.endpoints}
    cluster = slowed(cluster, largest_factors(running_slowdowns(plan), workers))
    shared = _shared(cluster, plan, workers)
    kinds = {
        worker: ":".join(
            (
                workers.get(worker, worker.rpartition("+")[0]),
                ",".join(sorted(held)),
                ",".join(sorted(_users(plan, worker))),
            )
        )
        for worker, held in plan.held.items()
    }
    return {
        endpoint.name: Service(
            limits[endpoint.name],
            {
                device: _in_time(candidates, alone[endpoint.name][device], endpoint.slo_s, ALONE)
                if endpoint.name in plan.own_balancing
                else _in_time(
                    candidates,
                    alone[endpoint.name][device],
                    endpoint.slo_s,
                    WAITS,
                    shared.get((device, endpoint.name)),
                )
                for device, candidates in endpoint.candidates.items()
            },
            None if endpoint.name in plan.own_balancing else plan.shares.get(endpoint.name, {}),
            kinds,
            stage_services(endpoint, plan.stages.get(endpoint.name, {})),
            overflow=bool(plan.fallback),
        )
        for endpoint in cluster.endpoints
    }


def next_plan(
    plan: Plan,
    now: Mapping[str, Service],
    before: Mapping[str, Service],
    slowdowns: Mapping[str, Mapping[str, float]] = NO_SLOWDOWNS,
) -> Plan:
    """The plan that follows ``plan``, which was in force under the services ``before``.

    What endpoints have learned (their load, where a balancer stands) is kept where their service is the same. Decision
    tables are made for certain variants and one objective: where these change, the endpoint is served without tables
    until there are others. Endpoints without a service stay as they are. ``slowdowns`` are predicted of candidates that
    are as profiled, by worker and variant.
    """
    endpoints = {
        name: endpoint if name not in now else _next(endpoint, now[name], before.get(name))
        for name, endpoint in plan.endpoints.items()
    }
    return Plan(plan.version + 1, endpoints, dict(slowdowns))


def serving_plan(
    cluster: Cluster,
    plan: ClusterPlan,
    workers: Mapping[str, str],
    version: int,
    batching: SelectionPolicy,
    *,
    drop_late: bool,
    max_queued_rows: int,
) -> Plan:
    """What one dispatcher of all workers serves under a plan, as if it had served nothing before.

    Its candidates take as long as beside their neighbours already, so that no slowdowns are predicted beyond that.
    """
    limits = {each.name: EndpointLimits(each.slo_s, drop_late, max_queued_rows) for each in cluster.endpoints}
    built = {name: EndpointPlan(name, own, {ONLY_STAGE: StagePlan({}, batching, None)}) for name, own in limits.items()}
    return next_plan(Plan(version - 1, built), services(cluster, plan, workers, limits), {})


def _next(endpoint: EndpointPlan, service: Service, before: Service | None) -> EndpointPlan:
    limited_now = replace(endpoint, limits=service.limits)
    if service.stages:
        return replace(
            limited_now, stages={name: service.stages[name].of(each) for name, each in endpoint.stages.items()}
        )
    if ONLY_STAGE not in endpoint.stages:
        return replace(
            limited_now, stages={name: _member(name, each, service) for name, each in endpoint.stages.items()}
        )
    if isinstance(endpoint.stage.selection, RamsisSelection):
        if endpoint.slo_s != service.limits.slo_s or (before is not None and before.candidates != service.candidates):
            limited_now = with_selection(limited_now, RamsisSelection())
        if service.shares is None:
            return limited_now.with_stage(candidates=service.candidates)
    return limited_now.with_stage(candidates=service.candidates, balancer=_balancer(endpoint, service, before))


def _balancer(endpoint: EndpointPlan, service: Service, before: Service | None) -> LoadBalancer | None:
    """Where the shares are as before, the balancer that knows whose turn it is."""
    shares = service.shares
    if shares is None:
        return endpoint.stage.balancer
    if before is not None and _turns(before) == _turns(service):
        return endpoint.stage.balancer
    return (OverflowShares if service.overflow else WeightedShares)(shares, service.kinds)


def _turns(service: Service) -> tuple[object, ...]:
    return service.shares, service.kinds, service.overflow


def _member(name: str, stage: StagePlan, service: Service) -> StagePlan:
    """The stage of an ensemble's member, which alone runs there."""
    own = {device: tuple(c for c in each if c.variant == name) for device, each in service.candidates.items()}
    return replace(stage, candidates=own)


def _shared(
    cluster: Cluster, plan: ClusterPlan, workers: Mapping[str, str]
) -> dict[tuple[str, str], tuple[float, int]]:
    """By device type and endpoint that share workers: their shortest objective, and how many batches it is for."""
    slo_s = {endpoint.name: endpoint.slo_s for endpoint in cluster.endpoints}
    found: dict[tuple[str, str], tuple[float, int]] = {}
    for worker, held in plan.held.items():
        users = _users(plan, worker)
        if len(held) > 1 or len(users) > 1:
            for name in users:
                key = (workers.get(worker, ""), name)
                shortest_s, waits = found.get(key, (slo_s[name], WAITS))
                found[key] = (min(shortest_s, *(slo_s[user] for user in users)), max(waits, WAITS + len(held) - 1))
    return found


def _users(plan: ClusterPlan, worker: str) -> list[str]:
    """The endpoints with a share of a worker."""
    return [name for name, shares in plan.shares.items() if worker in shares]


def _in_time(
    candidates: tuple[Candidate, ...],
    alone: tuple[Candidate, ...],
    slo_s: float,
    waits: int,
    shared: tuple[float, int] | None = None,
) -> tuple[Candidate, ...]:
    """Those that are in time, with no larger batches; of which, on workers that are ``shared``, those for all of these.

    ``alone`` are the same without neighbours: who is in time only so has the batches of then.
    A candidate that leaves no room for the others there keeps batches of one row: where workers hold more than they
    were planned for, while a pool shrinks, the endpoint would have nobody else.
    """
    found = []
    for candidate, without in zip(candidates, alone, strict=True):
        cut = limited(candidate, slo_s, waits=waits)
        if cut is None and (in_time := limited(without, slo_s, waits=waits)) is not None:
            cut = up_to(candidate, in_time.max_batch)
        if cut is not None and shared is not None:
            shared_s, batches = shared
            cut = limited(candidate, shared_s, waits=batches) or limited(candidate, candidate.latency_s[1], waits=1)
        if cut is not None:
            found.append(cut)
    return tuple(found)
