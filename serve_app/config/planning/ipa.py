"""``controller.ipa`` of the config: what planner ``ipa`` weighs."""

from typing import get_args

from pydantic import Field, field_validator

from autoscaler.planners.ipa.problem import MOST_UPGRADES, Accuracy
from serve_app.config.strict import Strict, one_of


class IpaConfig(Strict):
    """What planner `ipa` weighs (equation 8 of the paper)."""

    alpha: float = Field(default=1.0, ge=0, description="weight of accuracy")
    beta: float = Field(
        default=0.01, ge=0, description="weight of cost: of one worker, or of its `price_per_h` where pools have any"
    )
    delta: float = Field(default=1e-6, ge=0, description="weight of batch sizes, which are kept small")
    headroom: float = Field(
        default=1.3, ge=1, description="plan for so many times the load, where there are workers for that"
    )
    upgrades: int = Field(
        default=0,
        ge=0,
        le=MOST_UPGRADES,
        description="up to so many more accurate variants of their stage that workers hold beside the planned one, "
        "where memory allows: batches run on them while the stage has time to spare",
    )
    fallback: int = Field(
        default=0,
        ge=0,
        le=MOST_UPGRADES,
        description="up to so many faster variants of their stage that workers hold beside the planned one, where "
        "memory allows: batches run on them while more waits than the planned variant serves in half of the slack",
    )
    accuracy: str | None = Field(
        default=None,
        description="what a pipeline's accuracy is: `rank`, the sum of its variants' normalised ranks, as in the "
        "paper; `product`, the logarithm of the product of their accuracies; `measured`, what `pipeline.accuracy` has; "
        "`null`: `measured` where every pipeline has that, else `product`",
    )

    @field_validator("accuracy")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        return value if value is None else one_of(value, get_args(Accuracy))
