"""What the controller has to know of an application; free of ray."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from autoscaler.loop.sizing import Bounds
from catalog.variant import Variant
from dispatch.plan import EndpointLimits


@dataclass(frozen=True)
class PoolSettings:
    """One pool: ``workers`` to begin with, and how many there may be. ``memory_bytes`` is what one may load.

    ``start_up_s`` is how long a worker takes to come, unless it is seen to take longer.
    """

    device: str
    workers: int
    bounds: Bounds
    memory_bytes: float = inf
    price_per_h: float = 0.0
    start_up_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """One endpoint. ``variants`` narrows its task down, None takes all, also those registered later.

    ``pools`` serve it. One ``by_tables`` is served by decision tables (policy ``ramsis``).
    """

    task: str
    limits: EndpointLimits
    variants: tuple[str, ...] | None
    pools: tuple[str, ...]
    by_tables: bool


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


@dataclass(frozen=True, kw_only=True)
class ControlSettings:
    """The application as it was built. ``planner`` is ``everywhere`` or ``proteus``; with ``forecast`` None it plans
    for the load that is there.

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
    forecast: ForecastSettings | None = None
