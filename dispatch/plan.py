"""What the dispatcher serves and how: the decisions that change every few seconds, not every batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.balancer import LoadBalancer
from dispatch.flow.flow import QueryFlow
from dispatch.flow.single import SINGLE
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.load.monitor import LoadMonitor
from dispatch.load.moving_average import MovingAverage
from dispatch.query import ONLY_STAGE
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.shadow.rules import ShadowRules
from dispatch.worker_info import WorkerInfo


@dataclass(frozen=True)
class StagePlan:
    """Which variants run the jobs of one stage, who chooses among them, and how jobs get to workers.

    ``candidates`` maps device type, or the pool where one is to differ from its device type, to the variants that may
    run there. A ``balancer`` of None keeps what waits in one central queue that idle workers take from. ``load`` learns
    of every row that a query brings, and policies see what it anticipates; like the balancer it has state, and belongs
    to one stage of one dispatcher. ``pools`` names the pools whose workers serve the stage, None for all (RAMSIS,
    appendix G: workers of its own for each objective). ``after_s`` is what a query still needs when this stage is done
    with it: policies see deadlines that much earlier. ``lengths`` is how queries of any length are served, None where
    inputs have fixed sizes; a later plan keeps it.
    """

    candidates: Mapping[str, tuple[Candidate, ...]]
    selection: SelectionPolicy
    balancer: LoadBalancer | None
    load: LoadMonitor = field(default_factory=MovingAverage)
    pools: frozenset[str] | None = None
    after_s: float = 0.0
    lengths: StageLengths | None = None

    @property
    def central(self) -> bool:
        """Whether all jobs wait in one queue."""
        return self.balancer is None or self.balancer.central

    def offered(self, worker: WorkerInfo) -> tuple[Candidate, ...]:
        """The variants that may answer on such a worker."""
        if self.pools is not None and worker.pool not in self.pools:
            return ()
        own = self.candidates.get(worker.pool)
        return self.candidates.get(worker.device, ()) if own is None else own


@dataclass(frozen=True)
class EndpointLimits:
    """What an endpoint is held to.

    The objective ``slo_s`` is from arrival to answer, over all stages. With ``drop_late`` queries leave the queue at
    their deadline, else they are answered late. ``max_queued_rows`` bounds what may wait for the endpoint on all
    workers together; more is refused. ``admission`` says what is refused beyond that, where there are rules.
    """

    slo_s: float
    drop_late: bool
    max_queued_rows: int
    admission: AdmissionRules | None = None


@dataclass(frozen=True)
class EndpointPlan:
    """How one endpoint is served: its stages by name, and the ``flow`` that leads queries through them.

    With ``shadow``, some queries of an endpoint of one stage run on its most accurate variant as well.
    """

    name: str
    limits: EndpointLimits
    stages: Mapping[str, StagePlan]
    flow: QueryFlow = SINGLE
    shadow: ShadowRules | None = None

    @classmethod
    def of_stage(
        cls,
        name: str,
        stage: StagePlan,
        *,
        slo_s: float,
        drop_late: bool = False,
        max_queued_rows: int,
        admission: AdmissionRules | None = None,
    ) -> "EndpointPlan":
        """An endpoint of one stage."""
        return cls(name, EndpointLimits(slo_s, drop_late, max_queued_rows, admission), {ONLY_STAGE: stage})

    @property
    def slo_s(self) -> float:
        """The objective."""
        return self.limits.slo_s

    @property
    def stage(self) -> StagePlan:
        """The only stage; raises ValueError where there are several."""
        (only,) = self.stages.values()
        return only

    @property
    def candidates(self) -> dict[str, tuple[Candidate, ...]]:
        """Device type to all that some stage may run there."""
        found: dict[str, dict[str, Candidate]] = {}
        for stage in self.stages.values():
            for device, own in stage.candidates.items():
                found.setdefault(device, {}).update((each.variant, each) for each in own)
        return {device: tuple(own.values()) for device, own in found.items()}

    def length_of(self, inputs: Mapping[str, Any]) -> int:
        """The length of a query of the only stage; 0 where its inputs have fixed sizes, or there are several stages."""
        only = self.stages.get(ONLY_STAGE)
        return 0 if only is None or only.lengths is None else only.lengths.rule.length_of(inputs)

    def load_qps(self, now_s: float) -> float:
        """The load to reckon with: that of the stage with the most."""
        return max(stage.load.load_qps(now_s) for stage in self.stages.values())

    @property
    def selection(self) -> str:
        """Who chooses the variant: the policy of its only stage, or the flow that leads queries through others."""
        return self.stages[ONLY_STAGE].selection.name if ONLY_STAGE in self.stages else self.flow.name

    def with_stage(self, **changes: Any) -> "EndpointPlan":
        """The same with other fields of its only stage."""
        ((name, only),) = self.stages.items()
        return replace(self, stages={name: replace(only, **changes)})


@dataclass(frozen=True)
class Plan:
    """All endpoints. Versions only grow, so that a plan that was overtaken on its way cannot undo a newer one.

    ``slowdowns`` has, by worker and variant, how many times longer than alone a batch is predicted to run there beside
    what other workers of its machine run; who is not named is alone.
    """

    version: int
    endpoints: Mapping[str, EndpointPlan]
    slowdowns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
