"""``clients`` of the config: how much each of them may send."""

from typing import Self

from pydantic import Field, model_validator

from serve_app.config.strict import Strict

BY_TOKEN = "jwt:"
"""What the name of a client with a token begins with, before the token's subject."""


class RateLimitConfig(Strict):
    """How many queries a client may send; more get 429 with the time until the next may come."""

    rate_qps: float | None = Field(
        default=None, gt=0, description="queries per second in the long run; `null`: no limit"
    )
    burst: int | None = Field(
        default=None, ge=1, description="queries at once; `null`: as many as come in a second at that rate"
    )

    @model_validator(mode="after")
    def _burst_of_a_rate(self) -> Self:
        if self.burst is not None and self.rate_qps is None:
            raise ValueError(f"burst is {self.burst}, of no rate; give rate_qps as well, or leave burst out")
        return self


class ClientsConfig(RateLimitConfig):
    """What every client may send that is not ``named``; the limits are of all routers together."""

    named: dict[str, RateLimitConfig] = Field(
        default_factory=dict,
        description="limits of single clients by name: that of an API key, `jwt:` and a token's subject, or what the "
        "`header` says; without a `header`, no other name is taken here",
    )
    header: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="request header that names the client, such as `x-accord-client`; anyone may write into it. It is "
        "refused beside keys and tokens, which name clients themselves. `null`: those without a key share one limit",
    )
