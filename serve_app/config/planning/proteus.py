"""``controller.proteus`` of the config: what planner ``proteus`` weighs."""

from typing import get_args

from pydantic import Field, field_validator

from autoscaler.planners.proteus.options import (
    ALONE,
    BEFORE_FALLBACKS,
    MOST_FALLBACKS,
    Accuracy,
    Overload,
    ProteusOptions,
)
from serve_app.config.strict import Strict, one_of

DEFAULTS = ProteusOptions()


class ProteusConfig(Strict):
    """What planner `proteus` weighs."""

    overload: str = Field(
        default="most",
        description="where not all can be served: `most` queries, which starves endpoints whose queries are expensive, "
        "or the same part of every endpoint's demand, as large as it goes, before anything more: `even`",
    )
    fair: bool = Field(
        default=False, description="the best accuracy for the endpoint that is worst off, before that of all together"
    )
    headroom: float = Field(
        default=1.0, ge=1, description="plan for so many times the load, where there are workers for that"
    )
    deviations: float | None = Field(
        default=None,
        ge=0,
        description="room for so many standard deviations of the queries that come within an objective, if they come "
        f"at random, where there are workers for that; `null`: {ALONE.deviations:g}, with `fallback` "
        f"{BEFORE_FALLBACKS.deviations:g}",
    )
    tolerance: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="as many times the load in room as cost so much of effective accuracy (0.01 is a point); `null`: "
        f"{ALONE.tolerance:g}, with `fallback` {BEFORE_FALLBACKS.tolerance:g}",
    )
    room_down_to: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="less accurate variants for more room for queries that come at random, down to this part of the "
        f"effective accuracy that the best variants have; 1: none for that; `null`: {ALONE.down_to:g}, with `fallback` "
        f"{BEFORE_FALLBACKS.down_to:g}",
    )
    accuracy: str = Field(
        default=DEFAULTS.accuracy,
        description="what is weighed: each variant's accuracy as `given`, or `normalised`, in parts of the best "
        "variant of its endpoint, so that endpoints with hard tasks count as much as others",
    )
    price_per_point: float | None = Field(
        default=None,
        gt=0,
        description="the price per hour that one point (0.01) of effective accuracy is worth, for pools whose size the "
        "planner chooses; `null`: any price",
    )
    per_worker: int | None = Field(
        default=None,
        ge=1,
        le=2,
        description="variants that a worker may hold; `null`: two where there are fewer than two workers for each "
        "task, else one",
    )

    fallback: int = Field(
        default=0,
        ge=0,
        le=MOST_FALLBACKS,
        description="up to so many faster variants that workers hold beside the planned ones, where memory allows: "
        "batches run on them while more waits than the planned variant serves in time",
    )

    @field_validator("overload")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of(value, get_args(Overload))

    @field_validator("accuracy")
    @classmethod
    def _known_accuracy(cls, value: str) -> str:
        return one_of(value, get_args(Accuracy))
