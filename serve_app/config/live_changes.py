"""What may change while the application runs."""

from typing import Any

from pydantic import Field

from serve_app.config.strict import Name, Strict


class EndpointChange(Strict):
    """What of an endpoint may change while it is served."""

    slo_ms: float | None = Field(default=None, gt=0, description="latency objective in milliseconds")
    drop_late: bool | None = Field(default=None, description="refuse queries whose deadline passes in the queue")
    max_queued_rows: int | None = Field(default=None, ge=1, description="rows that may wait on all workers together")


class PoolChange(Strict):
    """What of a pool may change while it runs; with ``workers`` alone it has so many."""

    workers: int | None = Field(default=None, ge=0, description="workers to have")
    min_workers: int | None = Field(default=None, ge=0, description="fewest workers that the planner may choose")
    max_workers: int | None = Field(default=None, ge=1, description="most workers that the planner may choose")


class ForecastChange(Strict):
    """What of ``controller.forecast`` may change."""

    quantile: float | None = Field(default=None, ge=0.01, le=0.99, description="of the load that plans are made for")


class LiveChanges(Strict):
    """The ``user_config`` of the deployment ``Controller``: what differs from ``args`` without a restart of anything.

    ``variants`` are registered as ``accord register`` does.
    """

    endpoints: dict[Name, EndpointChange] = Field(default_factory=dict, description="name to what changes")
    pools: dict[Name, PoolChange] = Field(default_factory=dict, description="name to what changes")
    forecast: ForecastChange = Field(default=ForecastChange(), description="what of `controller.forecast` changes")
    variants: tuple[dict[str, Any], ...] = Field(default=(), description="entries of a catalogue, to be registered")
