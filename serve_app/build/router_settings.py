"""What a router has to know of a config beside its plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from dispatch.selection.ramsis.problem import Balancing
from serve_app.config.schema import AppConfig


@dataclass(frozen=True)
class RouterSettings:
    """``balancing`` names the endpoints that are served by decision tables, and how their queries are balanced."""

    max_body_bytes: int
    path_s: float  # what a batch is taken to need to a worker and back, until it is measured
    warm_up_s: float  # 0 for none
    balancing: Mapping[str, Balancing]


def router_settings(config: AppConfig) -> RouterSettings:
    """The settings of a config."""
    return RouterSettings(
        max_body_bytes=config.max_body_bytes,
        path_s=config.transport_ms / 1e3,
        warm_up_s=config.warm_up_s,
        balancing={
            name: cast(Balancing, endpoint.balancing)
            for name, endpoint in config.endpoints.items()
            if endpoint.policy == "ramsis"
        },
    )
