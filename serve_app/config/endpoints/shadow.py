"""``shadow`` of an endpoint: live accuracy without labels."""

from pydantic import Field

from serve_app.config.strict import Strict


class ShadowConfig(Strict):
    """Run some queries on the most accurate variant as well, where a worker has spare capacity, and compare."""

    share: float = Field(
        default=0.01,
        gt=0,
        le=0.5,
        description="share of the queries that other variants answered; more finds a broken variant sooner",
    )
    seed: int = Field(default=0, ge=0, description="the same seed draws the same queries of the same sequence")
