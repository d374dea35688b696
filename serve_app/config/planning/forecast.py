"""The part ``controller.forecast`` of the config."""

from pydantic import Field, field_validator, model_validator

from catalog.extras import require
from forecast.registry import NAMES, NETWORKS
from serve_app.config.strict import Name, Strict, one_of

DAY_S = 86_400.0


class ForecastConfig(Strict):
    """Plan for the load to come: a quantile of the highest second within the next seconds or minutes."""

    model: str = Field(
        default="deepar",
        description="what is trained on the load that the controller keeps, a name of "
        "[forecasting.md](forecasting.md#models); it serves once it forecasts better than what served before",
    )
    quantile: float = Field(
        default=0.9, ge=0.01, le=0.99, description="of the load over the horizon that plans are made for"
    )
    horizon_s: float | None = Field(
        default=None,
        gt=0,
        description="how far ahead plans look, in seconds, rounded up to blocks of 10; `null`: as long as the slowest "
        "pool takes to start a worker, and `controller.interval_s`",
    )
    artifacts: dict[Name, str] = Field(
        default_factory=dict,
        description="endpoint to the file or URL of a model to begin with; relative to where `serve run` is started. "
        "One that cannot be fetched is tried again every minute",
    )
    retrain_every_s: float | None = Field(
        default=DAY_S, ge=60, description="seconds between trainings, once 23 hours of load are known; `null`: never"
    )
    history_s: float = Field(
        default=14 * DAY_S, ge=DAY_S, le=28 * DAY_S, description="how much of the kept load it learns from, in seconds"
    )
    max_age_s: float = Field(
        default=7 * DAY_S, gt=0, description="a model whose history ended longer ago, in seconds, does not serve"
    )

    @field_validator("model")
    @classmethod
    def _known(cls, value: str) -> str:
        if one_of(value, NAMES) in NETWORKS:
            require("forecast", f"controller.forecast.model {value!r}")
        return value

    @model_validator(mode="after")
    def _replaced_in_time(self) -> "ForecastConfig":
        if self.retrain_every_s is not None and self.retrain_every_s + DAY_S > self.max_age_s:
            raise ValueError(
                f"max_age_s is {self.max_age_s:g}, and a model is up to {self.retrain_every_s + DAY_S:g} s old when "
                "the next is there (retrain_every_s, and the day that judges it); raise it, or train more often"
            )
        return self
