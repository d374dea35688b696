"""The systems that are compared. They differ in whom they ask, and in nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from benchmarks.cocktail.choosers import DroppingChooser, FixedChooser, Sets
from benchmarks.cocktail.member_sets import everyone, singles
from benchmarks.cocktail.models import ASKS, MODELS, machine_of
from benchmarks.cocktail.votes.truths import LabelBallots
from dispatch.balancing.bin_packing import BinPacking
from dispatch.ensemble.chooser import MemberChooser
from dispatch.ensemble.member import MemberSet
from dispatch.ensemble.weights import ClassWeights
from dispatch.flow.ensemble import EnsembleFlow
from dispatch.plan import EndpointLimits, EndpointPlan, Plan, StagePlan
from dispatch.query import Job, Query
from dispatch.selection.greedy import GreedySelection
from simulator.pools.spot_market import MachinePool

ENDPOINT = "images"

RESPONSE_S = 0.7
"""A response that takes longer violates the objective (section 5.2.1)."""

TRANSFER_S = 0.25
"""Of it for the payload (section 6.1: 200 to 300 ms): what is simulated has the rest."""

SLO_S = RESPONSE_S - TRANSFER_S

COCKTAIL, INFAAS, CLIPPER, CLIPPER_X = "cocktail", "infaas", "clipper", "clipper_x"
SYSTEMS = (COCKTAIL, INFAAS, CLIPPER, CLIPPER_X)

INFAAS_ON_DEMAND = "infaas_on_demand"
"""InFaaS as the paper ran it (section 5.2.1): a second row, by which nothing is judged."""

MOST_MACHINES = 400
"""Of each pool: nobody reaches it."""


@dataclass(frozen=True)
class System:
    """``sets`` are by the accuracy that is asked for, the preferred first; ``drops`` for Clipper-X."""

    name: str
    sets: Sets
    drops: bool = False
    on_demand: bool = False

    def chooser(self) -> MemberChooser:
        """A new one, which has learned nothing."""
        return DroppingChooser(self.sets) if self.drops else FixedChooser(self.sets)

    def expected_shares(self, mix: Sequence[float]) -> dict[str, float]:
        """The share of all queries that runs each member, as far as it is known beforehand."""
        shares: dict[str, float] = {}
        for ask, part in zip(ASKS, mix, strict=True):
            for member, share in self.sets[ask.accuracy][0].shares.items():
                shares[member] = shares.get(member, 0.0) + share * part
        return {member: share for member, share in shares.items() if share > 0}


def systems(chosen: Mapping[str, MemberSet]) -> dict[str, System]:
    """All of them; ``chosen`` are the sets of ours by constraint."""
    full = {ask.accuracy: [everyone(ask)] for ask in ASKS}
    single = {ask.accuracy: singles(ask) for ask in ASKS}
    own = {ask.accuracy: [chosen[ask.name]] for ask in ASKS}
    return {
        system.name: system
        for system in (
            System(COCKTAIL, own),
            System(INFAAS, single),
            System(CLIPPER, full),
            System(CLIPPER_X, full, drops=True),
            System(INFAAS_ON_DEMAND, single, on_demand=True),
        )
    }


def cluster_of(pools: Sequence[MachinePool]) -> Cluster:
    """All models on all machines; prices are those that pools have now and then."""
    candidates = {
        pool.device: tuple(model.candidate(machine_of(pool.device)) for model in MODELS.values()) for pool in pools
    }
    return Cluster(
        (Endpoint(ENDPOINT, SLO_S, candidates),),
        tuple(Pool(pool.device, price_per_h=pool.prices.price_per_h(0.0), max_workers=MOST_MACHINES) for pool in pools),
    )


def serving_plan(cluster: Cluster, flow: EnsembleFlow) -> Plan:
    """One stage per model, with one queue for its machines, which are packed."""
    (endpoint,) = cluster.endpoints
    stages = {
        name: StagePlan(
            {device: tuple(c for c in own if c.variant == name) for device, own in endpoint.candidates.items()},
            GreedySelection(),
            BinPacking(),
        )
        for name in MODELS
    }
    limits = EndpointLimits(SLO_S, drop_late=True, max_queued_rows=10**6)
    return Plan(1, {ENDPOINT: EndpointPlan(ENDPOINT, limits, stages, flow)})


class NotingFlow(EnsembleFlow):
    """Keeps in ``asked``, by query, the members that it asks: all at once, in sets of one wave."""

    def __init__(self, chooser: MemberChooser, weights: ClassWeights) -> None:
        super().__init__(chooser, weights, LabelBallots(weights.classes), latency_share=1.0)
        self.asked: dict[int, tuple[str, ...]] = {}

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]]:
        """See `QueryFlow.start`."""
        first, others = super().start(query, now_s)
        self.asked[query.id] = (first.stage, *(job.stage for job in others))
        return first, others


def flow_of(system: System, weights: ClassWeights) -> NotingFlow:
    """Votes as ours for all of them, which favours Clipper: the paper has it without weights by class."""
    return NotingFlow(system.chooser(), weights)
