"""The part ``controller.forecast`` of the config."""

from pydantic import Field, field_validator, model_validator

from forecast.registry import NAMES
from serve_app.config.strict import Name, Strict, one_of

DAY_S = 86_400.0


class ForecastConfig(Strict):
    """Plan for the load to come: the ``quantile`` of the highest second within the next ``horizon_s``, which by default
    is as long as the slowest pool takes to start a worker, and ``controller.interval_s``.

    ``model`` is trained on the load that the controller keeps, on the last ``history_s``, every ``retrain_every_s``
    (null: never), and serves once it forecasts better than what served before. ``artifacts`` are files or URLs of
    models to begin with, by endpoint. A model whose history ended more than ``max_age_s`` ago does not serve.
    """

    model: str = "deepar"
    quantile: float = Field(default=0.9, ge=0.01, le=0.99)
    horizon_s: float | None = Field(default=None, gt=0)
    artifacts: dict[Name, str] = Field(default_factory=dict)
    retrain_every_s: float | None = Field(default=DAY_S, ge=60)
    history_s: float = Field(default=14 * DAY_S, ge=DAY_S, le=28 * DAY_S)
    max_age_s: float = Field(default=7 * DAY_S, gt=0)

    @field_validator("model")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of("controller.forecast.model", value, NAMES)

    @model_validator(mode="after")
    def _replaced_in_time(self) -> "ForecastConfig":
        if self.retrain_every_s is not None and self.retrain_every_s + DAY_S > self.max_age_s:
            raise ValueError(
                f"max_age_s is {self.max_age_s:g}, and a model is up to {self.retrain_every_s + DAY_S:g} s old when "
                "the next is there (retrain_every_s, and the day that judges it); raise it, or train more often"
            )
        return self
