"""The config that ``serve run`` takes under ``args``. Unknown keys are refused."""

from typing import Any, get_args

from pydantic import Field, field_validator, model_validator

from autoscaler.loop.sizing import Bounds
from autoscaler.planners.baselines.everywhere import Everywhere
from autoscaler.planners.proteus.proteus import ProteusPlanner
from deployments.runtimes.run_times import Distribution
from dispatch.balancing.registry import BALANCERS
from dispatch.batching.nexus import EarlyDrop
from dispatch.batching.proteus import AdaptiveBatching
from dispatch.selection.ramsis.problem import Balancing
from dispatch.selection.registry import LADDERS
from serve_app.config.forecast import ForecastConfig
from serve_app.config.selection import SelectionConfig
from serve_app.config.strict import Name, Strict, one_of

TABLE_BALANCERS: tuple[str, ...] = get_args(Balancing)
"""What tables can be made for."""

EVERYWHERE = Everywhere.name
PLANNERS = (EVERYWHERE, ProteusPlanner.name)

CHOOSING = ("ramsis", "fixed", *LADDERS)
"""Policies that are about a certain set of variants, which a planner would take from them."""

GIVING_UP = (AdaptiveBatching.name, EarlyDrop.name)
"""Policies that refuse what the worker at hand cannot meet."""


def _default_balancing(validated: dict[str, Any]) -> str:
    """Policies by load take batches from one queue; the others have a queue per worker."""
    selection = validated.get("selection")
    return "central" if selection is not None and selection.policy in LADDERS else "round_robin"


class EndpointConfig(Strict):
    """What clients call, and its latency objective.

    ``variants`` narrows the task's variants down; None takes all. With ``drop_late`` a query whose deadline
    passes in the queue gets a 504 at once, else it is answered late. ``max_queued_rows`` bounds the queue.
    ``balancing`` is ``central`` by default with policies that decide by the load alone, else ``round_robin``.
    ``pools`` names the pools whose workers serve the endpoint; None takes all.
    """

    task: str
    slo_ms: float = Field(gt=0)
    selection: SelectionConfig = SelectionConfig()
    balancing: str = Field(default_factory=_default_balancing)
    variants: tuple[str, ...] | None = None
    pools: tuple[Name, ...] | None = Field(default=None, min_length=1)
    drop_late: bool = False
    max_queued_rows: int = Field(default=2000, ge=1)

    @field_validator("balancing")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of("balancing", value, BALANCERS)

    @model_validator(mode="after")
    def _balancing_for_policy(self) -> "EndpointConfig":
        if self.selection.policy == "ramsis" and self.balancing not in TABLE_BALANCERS:
            raise ValueError(
                f"balancing is {self.balancing!r}, and policy 'ramsis' plans for a queue per worker; use one of "
                f"{', '.join(TABLE_BALANCERS)}, or another policy"
            )
        if self.selection.policy in LADDERS and self.balancing != "central":
            raise ValueError(
                f"balancing is {self.balancing!r}, and policy {self.selection.policy!r} takes batches from one queue "
                "that all share; use central, which is the default with it, or another policy"
            )
        if self.selection.policy in GIVING_UP and self.balancing == "central":
            raise ValueError(
                f"balancing is 'central', and policy {self.selection.policy!r} gives up what one worker cannot meet, "
                "out of a queue that all share; use round_robin or shortest_queue, or another policy"
            )
        return self


class PoolConfig(Strict):
    """Identical workers. ``device`` is ``cpu`` or ``cuda``; the resources are those that Ray reserves for each.

    ``threads`` is the number of threads that one model run may use. A pool has ``workers``; with ``min_workers`` or
    ``max_workers`` the planner chooses how many, and begins with ``workers``. ``price_per_h`` is of one worker, in any
    currency, ``memory_bytes`` what the variants of one may take together. ``start_up_s`` is how long one takes to come,
    for forecasts that look so far ahead; where workers are seen to take longer, that counts. ``label_selector`` says on
    which nodes its workers run, by Ray's labels (``ray.io/accelerator-type``, ``ray.io/market-type`` and so on).
    """

    workers: int = Field(default=1, ge=0)
    min_workers: int | None = Field(default=None, ge=0)
    max_workers: int | None = Field(default=None, ge=1)
    price_per_h: float = Field(default=0.0, ge=0)
    memory_bytes: float | None = Field(default=None, gt=0)
    start_up_s: float = Field(default=10.0, ge=0)
    label_selector: dict[str, str] = Field(default_factory=dict)
    device: str = Field(default="cpu", pattern="^(cpu|cuda)$")
    threads: int = Field(default=1, ge=1)
    num_cpus: float = Field(default=1.0, ge=0)
    num_gpus: float = Field(default=0.0, ge=0)

    @property
    def bounds(self) -> Bounds:
        """How many workers there may be; all the same where the config names one number."""
        least = self.workers if self.min_workers is None else self.min_workers
        return Bounds(min(least, self.workers), max(self.workers, self.max_workers or 0))

    @model_validator(mode="after")
    def _workers_within_bounds(self) -> "PoolConfig":
        if self.min_workers is not None and self.workers < self.min_workers:
            raise ValueError(f"workers is {self.workers}, fewer than min_workers ({self.min_workers}); raise workers")
        if self.max_workers is not None and self.workers > self.max_workers:
            raise ValueError(f"workers is {self.workers}, more than max_workers ({self.max_workers}); lower workers")
        if self.bounds.most == 0:
            raise ValueError("workers is 0 and there is no max_workers, so that the pool never has any; raise one")
        return self

    @model_validator(mode="after")
    def _gpu_for_cuda(self) -> "PoolConfig":
        if self.device == "cuda" and self.num_gpus == 0:
            raise ValueError(
                "num_gpus is 0 in a pool with device 'cuda'; give its workers a GPU, or a share such as 0.25"
            )
        if self.device == "cpu" and self.num_gpus > 0:
            raise ValueError(
                f"num_gpus is {self.num_gpus} in a pool with device 'cpu'; set device: cuda or remove num_gpus"
            )
        return self


class ControllerConfig(Strict):
    """Who decides which worker holds what. ``everywhere``: every worker all variants of its endpoints, which choose
    among them batch by batch. ``proteus``: the planner, for all endpoints and workers at once, every ``interval_s`` and
    whenever load or workers change.

    ``state`` is where its decisions, the load and what it learned are kept: a path (SQLite), or the URL of a folder
    that fsspec knows. ``num_cpus`` is what Ray reserves for it. With ``forecast`` it plans for the load to come.
    """

    planner: str = EVERYWHERE
    interval_s: float = Field(default=10.0, gt=0)
    forecast: ForecastConfig | None = None
    state: str | None = None
    num_cpus: float = Field(default=0.1, ge=0)

    @field_validator("planner")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of("controller.planner", value, PLANNERS)

    @model_validator(mode="after")
    def _plans_for_a_load(self) -> "ControllerConfig":
        if self.forecast is not None and self.planner == EVERYWHERE:
            raise ValueError(
                "controller.forecast is given, and planner 'everywhere' plans for no load; remove it, or use "
                "controller.planner proteus"
            )
        return self


class EmulationConfig(Strict):
    """How variants are emulated: the ``distribution`` of their run times with its ``seed``, and a file of factors on
    them, which may change while the service runs. See `deployments.runtimes.emulated_runtime.EmulatedOptions`.
    """

    distribution: Distribution = "quantiles"
    seed: int = Field(default=0, ge=0)
    factor_file: str | None = None


class AppConfig(Strict):
    """One Accord application.

    ``catalogue`` is a YAML file or ``builtin``. ``profiles`` maps a device to a CSV of measured latencies; a
    device without one is measured on this machine, once, and kept. ``transport_ms`` is the time that a batch is taken
    to need to its worker and back beside its run, until that is measured: at first by a load of its own for
    ``warm_up_s`` before the service is ready; 0 skips that. Queries come to any of the ``routers``, each of which has
    workers of its own. With ``emulate`` no model runs: every variant takes the time that its profile says, on workers
    that reserve next to nothing.
    """

    catalogue: str = "builtin"
    profiles: dict[str, str] = Field(default_factory=dict)
    endpoints: dict[Name, EndpointConfig] = Field(min_length=1)
    pools: dict[Name, PoolConfig] = Field(min_length=1)
    transport_ms: float = Field(default=10.0, ge=0)
    warm_up_s: float = Field(default=2.0, ge=0)
    max_body_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    routers: int = Field(default=1, ge=1)
    router_num_cpus: float = Field(default=0.5, ge=0)
    controller: ControllerConfig = ControllerConfig()
    emulate: EmulationConfig | None = None

    def pools_of(self, endpoint: str) -> dict[str, PoolConfig]:
        """The pools whose workers serve an endpoint, in the order of the config."""
        named = self.endpoints[endpoint].pools
        return {name: pool for name, pool in self.pools.items() if named is None or name in named}

    @model_validator(mode="after")
    def _fits_together(self) -> "AppConfig":
        for name, endpoint in self.endpoints.items():
            if endpoint.slo_ms <= self.transport_ms:
                raise ValueError(
                    f"endpoints.{name}.slo_ms is {endpoint.slo_ms:g}, no more than transport_ms "
                    f"({self.transport_ms:g}), so that no variant is ever in time; raise the objective or "
                    "lower transport_ms"
                )
            for pool_name in endpoint.pools or ():
                if pool_name not in self.pools:
                    raise ValueError(
                        f"endpoints.{name}.pools: {pool_name!r} is no pool here; pools: {', '.join(self.pools)}"
                    )
            if self.controller.planner != EVERYWHERE and endpoint.selection.policy in CHOOSING:
                raise ValueError(
                    f"endpoints.{name}.selection.policy is {endpoint.selection.policy!r}, and the planner "
                    f"{self.controller.planner!r} decides which variant a worker holds; use policy proteus, or "
                    "controller.planner everywhere"
                )
        forecast = self.controller.forecast
        for name in () if forecast is None else forecast.artifacts:
            if name not in self.endpoints:
                raise ValueError(
                    f"controller.forecast.artifacts.{name} is no endpoint here; endpoints: {', '.join(self.endpoints)}"
                )
        threads: dict[str, tuple[str, int]] = {}
        for name, pool in self.pools.items():
            other, count = threads.setdefault(pool.device, (name, pool.threads))
            if count != pool.threads:
                raise ValueError(
                    f"pools.{name}.threads is {pool.threads} and pools.{other}.threads is {count}, both on "
                    f"{pool.device}; latency is profiled per device: give them the same number"
                )
            if self.controller.planner == EVERYWHERE and pool.bounds.least < pool.bounds.most:
                raise ValueError(
                    f"pools.{name} has min_workers or max_workers, and planner 'everywhere' chooses no sizes; give "
                    "workers alone, or controller.planner proteus"
                )
        devices = {pool.device for pool in self.pools.values()}
        for device in self.profiles:
            if device not in devices:
                raise ValueError(
                    f"profiles.{device} is given, but no pool has that device; "
                    f"devices here: {', '.join(sorted(devices))}"
                )
        for taken in ("Router", "Controller"):
            if taken in self.pools:
                raise ValueError(
                    f"pools.{taken}: the name is taken by Accord's own deployment; call the pool something else"
                )
        return self
