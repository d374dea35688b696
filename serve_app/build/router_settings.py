"""What a router has to know of a config beside its plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from dispatch.admission.token_buckets import RateLimit, TokenBuckets
from dispatch.selection.ramsis.problem import Balancing, Formulation
from serve_app.config.schema import AppConfig
from serve_app.config.security import SecurityConfig
from serve_app.http.intake import IntakeLimits


@dataclass(frozen=True)
class RouterSettings:
    """``balancing`` names the endpoints that are served by decision tables, and how their queries are balanced.

    ``formulations`` has those of them whose config names one.
    """

    intake: IntakeLimits
    path_s: float  # what a batch is taken to need to a worker and back, until it is measured
    warm_up_s: float  # 0 for none
    balancing: Mapping[str, Balancing]
    security: SecurityConfig
    formulations: Mapping[str, Formulation] = field(default_factory=dict)
    default_rate: RateLimit | None = None  # of each client that is not named, at this router
    client_rates: Mapping[str, RateLimit | None] = field(default_factory=dict)

    def token_buckets(self) -> TokenBuckets | None:
        """Those of the clients; None where nobody is limited."""
        limits = (self.default_rate, *self.client_rates.values())
        limited = any(limit is not None for limit in limits)
        return TokenBuckets(self.default_rate, self.client_rates) if limited else None


def router_settings(config: AppConfig) -> RouterSettings:
    """The settings of a config."""
    return RouterSettings(
        intake=IntakeLimits(config.max_body_bytes, config.body_timeout_s, config.max_requests, config.clients.header),
        path_s=config.transport_ms / 1e3,
        warm_up_s=config.warm_up_s,
        balancing={
            name: cast(Balancing, endpoint.balancing)
            for name, endpoint in config.endpoints.items()
            if endpoint.policy == "ramsis"
        },
        security=config.security,
        formulations={
            name: endpoint.selection.formulation
            for name, endpoint in config.endpoints.items()
            if endpoint.policy == "ramsis" and endpoint.selection.formulation is not None
        },
        default_rate=_rate(config.clients.rate_qps, config.clients.burst, config.routers),
        client_rates={
            name: _rate(each.rate_qps, each.burst, config.routers) for name, each in config.clients.named.items()
        },
    )


def _rate(rate_qps: float | None, burst: int | None, routers: int) -> RateLimit | None:
    """A router's part of a limit; without a burst, what comes in a second may come at once."""
    if rate_qps is None:
        return None
    return RateLimit(rate_qps / routers, max(1.0, (rate_qps if burst is None else burst) / routers))
