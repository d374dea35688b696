"""What HAProxy itself answers where no router does: JSON like the routers' own, and never a 500."""

import json
from dataclasses import dataclass
from http import HTTPStatus

UNAVAILABLE = 14
"""Of gRPC's statuses."""


@dataclass(frozen=True)
class Refusal:
    """One answer; ``code`` is for the header ``x-accord-reason``, ``retry_after_s`` None leaves ``Retry-After`` out."""

    status: int
    reason: str
    code: str
    error: str
    retryable: bool = True
    retry_after_s: int | None = 1

    @property
    def body(self) -> str:
        """As in `serve_app.http.errors`; without single quotes, which end strings in a configuration."""
        content = {"error": self.error, "reason": self.reason, "retryable": self.retryable, "code": self.code}
        return json.dumps(content, separators=(",", ":")).replace("'", "")

    @property
    def rule(self) -> str:
        """The answer as a ``return`` of HAProxy's ``http-request`` rules, without its condition."""
        headers = "".join(f" hdr {name} {value}" for name, value in self._headers.items())
        return f"return status {self.status} content-type application/json string '{self.body}'{headers}"

    @property
    def grpc_rule(self) -> str:
        """The same for a call over gRPC, which can be tried again: as `serve_app.grpc.status` tells of errors."""
        told = {"x-accord-error": self.reason, **self._headers}
        headers = "".join(f" hdr {name} {value}" for name, value in told.items())
        status = f"hdr grpc-status {UNAVAILABLE} hdr grpc-message '{self.error}'"
        return f"return status 200 content-type application/grpc {status}{headers}"

    @property
    def file(self) -> str:
        """The whole answer, as an ``errorfile``."""
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in self._headers.items()]
        lines += [f"Content-Length: {len(self.body.encode())}", "Cache-Control: no-cache", "", self.body]
        return "\r\n".join(lines)

    @property
    def _headers(self) -> dict[str, str]:
        retry = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        return {"x-accord-reason": self.code, **retry}


LOADING = Refusal(503, "Loading", "loading", "no router serves this path yet; try again soon")
"""Routes are not known yet, or no router of the application is there."""

SATURATED = Refusal(
    429,
    "Saturated",
    "rejected-saturated",
    "the routers have as many requests as they can answer in time; try again soon",
)
"""The window to the routers is full, and so is the short queue in front of it."""

UNREACHABLE = Refusal(
    503, "Unreachable", "unreachable", "the router died or could not be reached, or the wait for it was too long"
)
"""Instead of HAProxy's 502, 503 and 504. The request may have been run where it was sent to the router already."""

ERRORS = {
    400: Refusal(400, "BadRequest", "bad-request", "this is not HTTP that the proxy understands", False, None),
    408: Refusal(408, "TooSlow", "too-slow", "headers and body did not arrive in time", True, None),
    500: UNREACHABLE,
    502: UNREACHABLE,
    503: UNREACHABLE,
    504: UNREACHABLE,
}
"""By the status that HAProxy would have answered with."""
