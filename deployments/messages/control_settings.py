"""What the controller has to know of an application; free of ray."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from autoscaler.loop.sizing import Bounds
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.proteus.options import ProteusOptions
from catalog.artifacts.rules import ArtifactRules
from catalog.variant import Variant
from dispatch.plan import EndpointLimits
from dispatch.query import ONLY_STAGE


@dataclass(frozen=True)
class PoolSettings:
    """One pool: ``workers`` to begin with, and how many there may be. ``memory_bytes`` is what one may load, and
    ``batch_bytes`` what the rows of a batch may take beside it.

    ``start_up_s`` is how long a worker takes to come, unless it is seen to take longer. Its workers may hold the
    ``variants`` of those names alone, all where it is None. One run may use ``threads``.
    """

    device: str
    workers: int
    bounds: Bounds
    memory_bytes: float = inf
    price_per_h: float = 0.0
    start_up_s: float = 10.0
    batch_bytes: float = inf
    variants: tuple[str, ...] | None = None
    threads: int = 1

    def may_hold(self, variant: str) -> bool:
        """Whether its workers may hold a variant of that name."""
        return self.variants is None or variant in self.variants


@dataclass(frozen=True)
class StageSettings:
    """One stage of an endpoint: ``variants`` narrows its task down, None takes all, also those registered later.

    ``after`` names the stages whose outputs it takes. ``excluded`` names variants of the config that it never runs:
    the stacked ensembles that only other endpoints declare. Its jobs have ``rows_per_job`` rows each, but for the last
    one of a query.
    """

    task: str
    variants: tuple[str, ...] | None
    after: tuple[str, ...] = ()
    excluded: frozenset[str] = frozenset()
    rows_per_job: int = 1

    def takes(self, variant: str) -> bool:
        """Whether a variant of its task with that name may run it."""
        return variant not in self.excluded and (self.variants is None or variant in self.variants)


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """One endpoint. Its ``stages`` are in an order in which each stands behind those that it takes from.

    ``pools`` serve it. One ``by_tables`` is served by decision tables (policy ``ramsis``). With ``launches_ahead`` the
    next batch follows before a worker's result is there. ``measured_accuracy`` is that of a whole pipeline, by the
    variants of its stages in their order.
    """

    stages: Mapping[str, StageSettings]
    limits: EndpointLimits
    pools: tuple[str, ...]
    by_tables: bool
    launches_ahead: bool
    measured_accuracy: Mapping[tuple[str, ...], float] = field(default_factory=dict)

    @property
    def is_pipeline(self) -> bool:
        """Whether it has stages with names."""
        return ONLY_STAGE not in self.stages

    def takes(self, task: str, variant: str) -> bool:
        """Whether some stage may be run by a variant of that task and name."""
        return any(stage.task == task and stage.takes(variant) for stage in self.stages.values())


@dataclass(frozen=True)
class ForecastSettings:
    """How the load to plan for is forecast: its ``quantile`` over ``horizon_s``.

    ``model`` is one of `forecast.registry.NAMES`. Where ``horizon_s`` is None it is as long as the slowest pool takes
    to start a worker, and a planning interval. ``artifacts`` are files or URLs of models to begin with, by endpoint.
    ``retrain_every_s`` None is never; ``history_s`` is what is learned from. A model whose history ended more than
    ``max_age_s`` ago does not serve.
    """

    model: str
    quantile: float
    horizon_s: float | None
    artifacts: Mapping[str, str]
    retrain_every_s: float | None
    history_s: float
    max_age_s: float


@dataclass(frozen=True)
class InterferenceSettings:
    """A predictor of slowdowns, as its file has it: the controller may be on another node. ``name`` is the file's."""

    name: str
    model: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Tells predictors apart, whatever their files are called."""
        return hashlib.sha256(self.model).hexdigest()[:24]


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """The application as it was built.

    ``planner`` is one of `autoscaler.planners.registry`, ``ipa`` and ``proteus`` are the options of those of these
    names, ``per_worker`` as in `PlannerOptions`. With ``forecast`` None it plans for the load that is there, with
    ``interference`` None as if every worker were alone on its node.

    ``profiled_s`` has, by pool and variant, the profiled 95th percentile of the run of 0 (unused), 1, 2, ... rows;
    ``transport_s`` is the way beside it. ``memory_bytes`` is by variant.
    """

    planner: str
    interval_s: float
    state: str
    endpoints: Mapping[str, EndpointSettings]
    pools: Mapping[str, PoolSettings]
    variants: tuple[Variant, ...]
    profiled_s: Mapping[tuple[str, str], tuple[float, ...]]
    memory_bytes: Mapping[str, int]
    transport_s: float
    artifact_root: str
    artifact_rules: ArtifactRules = field(default_factory=ArtifactRules)
    forecast: ForecastSettings | None = None
    ipa: IpaOptions = field(default_factory=IpaOptions)
    proteus: ProteusOptions = field(default_factory=ProteusOptions)
    per_worker: int | None = None
    interference: InterferenceSettings | None = None
