"""``controller.interference`` of the config: what workers of one node do to each other's latency."""

from pydantic import Field

from serve_app.config.strict import Strict


class InterferenceConfig(Strict):
    """The predictor of slowdowns that plans are made with."""

    model: str = Field(
        min_length=1,
        description="file of a predictor, saved by `accord interference train`; relative to where `serve run` is "
        "started, and read there",
    )
