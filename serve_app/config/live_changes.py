"""What may change while the application runs."""

from typing import Any

from pydantic import Field

from serve_app.config.strict import Name, Strict


class EndpointChange(Strict):
    """What of an endpoint may change while it is served."""

    slo_ms: float | None = Field(default=None, gt=0)
    drop_late: bool | None = None
    max_queued_rows: int | None = Field(default=None, ge=1)


class PoolChange(Strict):
    """What of a pool may change while it runs; with ``workers`` alone it has so many."""

    workers: int | None = Field(default=None, ge=0)
    min_workers: int | None = Field(default=None, ge=0)
    max_workers: int | None = Field(default=None, ge=1)


class ForecastChange(Strict):
    """What of ``controller.forecast`` may change."""

    quantile: float | None = Field(default=None, ge=0.01, le=0.99)


class LiveChanges(Strict):
    """The ``user_config`` of the deployment ``Controller``: what differs from ``args`` without a restart of anything.

    ``variants`` are registered as ``accord register`` does.
    """

    endpoints: dict[Name, EndpointChange] = Field(default_factory=dict)
    pools: dict[Name, PoolChange] = Field(default_factory=dict)
    forecast: ForecastChange = ForecastChange()
    variants: tuple[dict[str, Any], ...] = ()
