"""The config that ``serve run`` takes under ``args``. Unknown keys are refused."""

from pydantic import Field, model_validator

from autoscaler.planners import registry as planners
from catalog.faults import nearest
from deployments.runtimes.run_times import Distribution
from dispatch.selection.registry import CENTRAL
from serve_app.config.artifacts import ArtifactsConfig
from serve_app.config.clients import BY_TOKEN, ClientsConfig
from serve_app.config.controller import ControllerConfig
from serve_app.config.endpoints.endpoint import EndpointConfig
from serve_app.config.pool import PoolConfig
from serve_app.config.security import SecurityConfig
from serve_app.config.strict import Name, Strict

CHOOSING = ("fixed", *CENTRAL)
"""Policies that are about a certain set of variants, which a planner would take from them."""


PATH_WORDS = ("infer", "stats")
"""No names of endpoints, which stand in the place of these words in paths under ``/v2/models/``."""


class EmulationConfig(Strict):
    """How variants are emulated; see `deployments.runtimes.emulated_runtime.EmulatedOptions`."""

    distribution: Distribution = Field(
        default="quantiles", description="of run times: `quantiles`, `fixed`, `normal` or `lognormal`"
    )
    seed: int = Field(default=0, ge=0, description="the same seed draws the same times in the same worker")
    factor_file: str | None = Field(
        default=None,
        description="a file of factors on run times, which may change while the service runs; relative to where the "
        "service is started",
    )


class AppConfig(Strict):
    """One Accord application."""

    catalogue: str = Field(
        default="builtin",
        description="a catalogue file, relative to where `serve run` is started, or `builtin`, or `sentiment`, which "
        "is built at its first use",
    )
    profiles: dict[str, str] = Field(
        default_factory=dict,
        description="device (`cpu`, `cuda`, or a type such as `cuda-a100`) to a CSV of measured latencies; `cpu` and "
        "`cuda` without one are measured on the machine that starts the service, once, and kept",
    )
    endpoints: dict[Name, EndpointConfig] = Field(
        min_length=1, description="name to endpoint; none is called `infer` or `stats`"
    )
    pools: dict[Name, PoolConfig] = Field(min_length=1, description="name to pool")
    transport_ms: float = Field(
        default=10.0,
        ge=0,
        description="what a batch is taken to need to its worker and back beside its run, in milliseconds, until a "
        "router has measured that on its own workers; an objective must be longer",
    )
    warm_up_s: float = Field(
        default=2.0,
        ge=0,
        description="before it says ready, every router runs batches of synthetic inputs for so many seconds, every "
        "variant on every worker that is there, and then makes the first decision tables for what it measured; 0 "
        "skips both, and latencies are learned from the first queries",
    )
    max_body_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, description="a request with a larger body gets 413")
    body_timeout_s: float = Field(
        default=10.0, gt=0, description="a request whose body takes longer to arrive gets 408, in seconds"
    )
    max_requests: int = Field(
        default=4000, ge=1, description="requests that a router has in progress at a time; more get 429 undecoded"
    )
    clients: ClientsConfig = Field(default=ClientsConfig(), description="how much each client may send")
    routers: int = Field(default=1, ge=1, description="router replicas; each has workers of its own")
    router_num_cpus: float = Field(default=0.5, ge=0, description="CPUs that Ray reserves for each router")
    controller: ControllerConfig = Field(default=ControllerConfig(), description="who decides which worker holds what")
    artifacts: ArtifactsConfig = Field(
        default=ArtifactsConfig(), description="which model files clients may register, and how remote ones are fetched"
    )
    security: SecurityConfig = Field(
        default=SecurityConfig(),
        description="who may call; required where `http_options.host` is not loopback ([security.md](security.md))",
    )
    emulate: EmulationConfig | None = Field(
        default=None, description="run no model: every variant takes the time that its profile says; `{}` is enough"
    )

    def pools_of(self, endpoint: str) -> dict[str, PoolConfig]:
        """The pools whose workers serve an endpoint, in the order of the config."""
        named = self.endpoints[endpoint].pools
        return {name: pool for name, pool in self.pools.items() if named is None or name in named}

    @model_validator(mode="after")
    def _limits_of_clients_that_can_be(self) -> "AppConfig":
        keys, jwt, header = self.security.api_keys, self.security.jwt, self.clients.header
        if header is not None and self.security.required:
            raise ValueError(
                f"clients.header is {header!r}, and the names of clients are those of security.api_keys and the "
                "subjects of security.jwt, so that the header would not be looked at; remove the header, or the keys "
                "and tokens"
            )
        for name in () if header is not None else self.clients.named:
            if name in keys or (jwt is not None and name.startswith(BY_TOKEN)):
                continue
            if name.startswith(BY_TOKEN):
                raise ValueError(
                    f"clients.named.{name} is for the subject of a token, and no tokens are taken; add security.jwt, "
                    "or remove the limit"
                )
            raise ValueError(
                f"clients.named.{name}: no client is called {name!r}{nearest(name, keys)}; "
                + (f"security.api_keys has {', '.join(keys)}" if keys else "there are no security.api_keys")
                + "; name one of those, or `jwt:` and a subject where there is security.jwt"
                + ("" if self.security.required else ", or give clients.header")
            )
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "AppConfig":
        for name, endpoint in self.endpoints.items():
            if name in PATH_WORDS:
                raise ValueError(
                    f"endpoints.{name}: /v2/models/{name} is a path of the HTTP interface itself; call the endpoint "
                    "something else"
                )
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
            kind = self.controller.kind
            if endpoint.pipeline is not None and not kind.for_pipelines:
                able = ", ".join(name for name, each in planners.PLANNERS.items() if each.for_pipelines)
                raise ValueError(
                    f"endpoints.{name} is a pipeline, and planner {kind.name!r} plans for none; use controller.planner "
                    f"{able}"
                )
            if endpoint.ensemble is not None and kind.for_pipelines and kind.assigns:
                raise ValueError(
                    f"endpoints.{name} is an ensemble, and planner {kind.name!r} chooses one variant for it; use "
                    "controller.planner cocktail, or remove the ensemble"
                )
            if endpoint.ensemble is not None:
                continue
            if kind.for_ensembles:
                raise ValueError(
                    f"endpoints.{name} has no ensemble, and planner {self.controller.planner!r} gives workers to the "
                    f"members of ensembles; add `ensemble: {{}}`, or use controller.planner {planners.DEFAULT.name}"
                )
            if kind.assigns and endpoint.policy in (CHOOSING if kind.with_tables else ("ramsis", *CHOOSING)):
                raise ValueError(
                    f"endpoints.{name}.selection.policy is {endpoint.selection.policy!r}, and the planner "
                    f"{self.controller.planner!r} decides which variant a worker holds; use policy adaptive_batching, "
                    f"or controller.planner {planners.DEFAULT.name}"
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
            if not self.controller.kind.sizes and pool.bounds.least < pool.bounds.most:
                able = ", ".join(name for name, kind in planners.PLANNERS.items() if kind.sizes)
                raise ValueError(
                    f"pools.{name} has min_workers or max_workers, and planner {self.controller.planner!r} chooses no "
                    f"sizes; give workers alone, or controller.planner {able}"
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
