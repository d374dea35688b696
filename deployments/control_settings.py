"""What the controller has to know of an application; free of ray."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from autoscaler.sizing import Bounds
from catalog.variant import Variant


@dataclass(frozen=True)
class PoolSettings:
    """One pool: ``workers`` to begin with, and how many there may be. ``memory_bytes`` is what one may load."""

    device: str
    workers: int
    bounds: Bounds
    memory_bytes: float = inf
    price_per_h: float = 0.0


@dataclass(frozen=True)
class EndpointSettings:
    """One endpoint. ``variants`` narrows its task down, None takes all, also those registered later.

    ``pools`` serve it. One ``by_tables`` is served by decision tables (policy ``ramsis``).
    """

    task: str
    slo_s: float
    drop_late: bool
    max_queued_rows: int
    variants: tuple[str, ...] | None
    pools: tuple[str, ...]
    by_tables: bool


@dataclass(frozen=True)
class ControlSettings:
    """The application as it was built. ``planner`` is ``everywhere`` or ``proteus``.

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
