"""``controller`` of the config: who decides which worker holds what."""

from pydantic import Field, field_validator, model_validator

from autoscaler.planners import registry as planners
from catalog.extras import require
from serve_app.config.planning.forecast import ForecastConfig
from serve_app.config.planning.interference import InterferenceConfig
from serve_app.config.planning.ipa import IpaConfig
from serve_app.config.planning.proteus import ProteusConfig
from serve_app.config.strict import Strict, one_of


class ControllerConfig(Strict):
    """Who decides which worker holds what."""

    planner: str = Field(
        default=planners.DEFAULT.name,
        description="`everywhere`: every worker holds all variants of its endpoints, which choose among them batch by "
        "batch; `proteus`: decided for all endpoints and workers at once (needs the extra `planning`); `cocktail`: "
        "workers for each member of ensembles, as many as it is asked; `ipa`: variants, batches and workers for every "
        "stage of pipelines (needs the extra `planning`)",
    )
    ipa: IpaConfig | None = Field(default=None, description="what planner `ipa` weighs; `null`: its defaults")
    proteus: ProteusConfig | None = Field(
        default=None, description="what planner `proteus` weighs; `null`: its defaults"
    )
    interval_s: float = Field(default=10.0, gt=0, description="a plan at least so often, in seconds")
    forecast: ForecastConfig | None = Field(
        default=None, description="plan for the load to come; `null`: for the load that is there"
    )
    interference: InterferenceConfig | None = Field(
        default=None,
        description="plan with what workers of one node do to each other's latency (needs the extra `interference`); "
        "`null`: as if each were alone",
    )
    state: str | None = Field(
        default=None,
        description="where its state is kept: a `.db` or `.sqlite` file, or a folder or its URL that fsspec knows, "
        "relative to where `serve run` is started, `~` being the home of its user; `null`: under `ACCORD_CACHE_DIR`",
    )
    num_cpus: float = Field(default=0.1, ge=0, description="CPUs that Ray reserves for it")

    @property
    def kind(self) -> planners.PlannerKind:
        """What the planner is able to do."""
        return planners.PLANNERS[self.planner]

    @field_validator("planner")
    @classmethod
    def _known(cls, value: str) -> str:
        needs = planners.PLANNERS[one_of(value, tuple(planners.PLANNERS))].needs
        if needs is not None:
            require(needs, f"controller.planner {value!r}")
        return value

    @model_validator(mode="after")
    def _weights_of_its_planner(self) -> "ControllerConfig":
        for planner, given in (("ipa", self.ipa), ("proteus", self.proteus)):
            if given is not None and self.planner != planner:
                raise ValueError(
                    f"{planner} is given, and the planner is {self.planner!r}; remove it, or use planner {planner}"
                )
        return self

    @model_validator(mode="after")
    def _plans_for_a_load(self) -> "ControllerConfig":
        if self.forecast is not None and not self.kind.by_load:
            able = ", ".join(name for name, kind in planners.PLANNERS.items() if kind.by_load)
            raise ValueError(
                f"forecast is given, and planner {self.planner!r} plans for no load; remove it, or use planner {able}"
            )
        return self
