"""What controller and routers say to each other; free of ray, so that anyone may name it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoscaler.placement.serving import Service
from catalog.evaluation.measured import AccuracyOrigin
from dispatch.query import StageKey
from dispatch.worker_info import WorkerInfo

WINDOW_S = 0.5
"""Routers report what happened in windows of this length, counted from the epoch of wall time."""

Counts = tuple[int, ...]
"""How many batches fell into each bin of `autoscaler.demand.profile_drift`."""


@dataclass(frozen=True)
class RouterState:
    """How a router stands: the version of the routing table in force there, and the workers that it uses.

    It uses those that it may launch batches on, and those whose last batch it still waits for. One that is ``leaving``
    ends what it has, and gets no new queries.
    """

    router: str
    following: int
    using: frozenset[str]
    leaving: bool = False


@dataclass(frozen=True)
class RouterReport:
    """What a router did in the window number ``window``, and how it stands now.

    ``runs`` compares, by pool, variant and worker, the run of each batch with its profile, ``transport`` by pool the
    rest of its way with what was reckoned with. Runs of workers with predicted slowdowns are in ``worker_runs``
    instead, by worker and variant, against profile and slowdown of the plan ``plan_version``. ``stage_rows`` are the
    rows that ran, of endpoints with several stages, ``refused`` those of which nothing ran, ``expired`` those of which
    some may have run: all of them count rows, of which a query may have several. ``sent_s`` is the router's clock when
    it was sent.
    """

    router_state: RouterState
    window: int
    arrived: Mapping[str, int]
    violated: Mapping[str, int]
    runs: Mapping[tuple[str, str, str], Counts]
    transport: Mapping[str, Counts]
    stage_rows: Mapping[StageKey, int] = field(default_factory=dict)
    worker_runs: Mapping[tuple[str, str], Counts] = field(default_factory=dict)
    plan_version: int = 0
    sent_s: float | None = None
    refused: Mapping[str, int] = field(default_factory=dict)
    expired: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerRouting:
    """What a worker is there for: the variants that it serves, the router that it belongs to.

    ``router`` is None while it passes from one router to another. ``slowdowns`` are those that are predicted of its
    variants beside the other workers of its node; empty where it is alone there, or nobody predicts.
    """

    info: WorkerInfo
    serves: frozenset[str]
    router: str | None
    slowdowns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RoutingTable:
    """All that routers have to know; a newer one replaces the one before as a whole.

    ``plan_version`` is what people know the plan by. ``profiled_s`` has, by pool and variant, the profiled run of 0
    (unused), 1, 2, ... rows, without corrections; ``transport_s``, by pool, what the config says of the way.
    ``emulated`` names the variants whose answers no model gives; ``origins`` says where the accuracies of variants come
    from.
    """

    version: int
    plan_version: int
    endpoints: Mapping[str, Service]
    workers: Mapping[str, WorkerRouting]
    profiled_s: Mapping[tuple[str, str], tuple[float, ...]]
    transport_s: Mapping[str, float]
    routers: frozenset[str] = frozenset()
    emulated: frozenset[str] = frozenset()
    origins: Mapping[str, AccuracyOrigin] = field(default_factory=dict)
