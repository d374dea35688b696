"""What a request has to pass before its body is decoded, and how its body is read."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.types import Message, Receive, Scope

from catalog.errors import BadRequest, Interrupted, RateLimited, Saturated, TooLarge, TooSlow
from deployments.router.router import Router
from dispatch.admission.token_buckets import TokenBuckets
from serve_app.http.in_front.refusals import HEADER as REFUSED
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import RequestAge
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.security.caller import caller_of
from serve_app.http.stepping import Stepped
from serve_app.oip.content_coding import expanded
from serve_app.oip.parameters import LONGEST_S, SHORTEST_S
from serve_app.oip.words import shown

TIMEOUTS_S = {b"x-request-timeout-seconds": 1.0, b"x-envoy-expected-rq-timeout-ms": 1e-3}
"""Headers that say how long a client waits, with their unit in seconds."""

GRPC_TIMEOUT = b"grpc-timeout"
GRPC_UNITS_S = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
"""The same from a gateway that speaks gRPC: digits and a letter."""

LENGTH, BINARY = b"content-length", b"inference-header-content-length"
CODING, ACCEPTED = b"content-encoding", b"accept-encoding"
REQUEST_ID, TRACE_PARENT = b"x-request-id", b"traceparent"
KEPT = frozenset((BINARY, CODING, ACCEPTED, REQUEST_ID, TRACE_PARENT, REFUSED))
LOOKED_AT = KEPT | {LENGTH, GRPC_TIMEOUT, *TIMEOUTS_S}

MOST_DIGITS = 18

DIRECT = "accord.direct"
"""Key in the scope of requests that came to this process's own HTTP server. Others were in Serve's proxy, which holds
them while no router is there: they waited for a router to start, and not for its event loop."""

OWN_WISHES = (b'"slo_ms"', b'"timeout"', b'"priority"')
"""A body without these asks for no more than its endpoint's objective and normal priority."""


class ClientGone(Exception):
    """The client left before it had an answer."""


@dataclass(frozen=True)
class IntakeLimits:
    """What a router takes: bodies of so many bytes that come in so many seconds, and so many requests at a time.

    ``client_header`` names who sent a request where nobody was asked for a key; None where nothing does.
    """

    max_body_bytes: int
    body_timeout_s: float
    max_requests: int
    client_header: str | None = None


class Head(NamedTuple):
    """A request before its body: when the proxy had it, and the time that its headers give it, None for no word.

    ``kept`` has those of the `KEPT` headers that it came with.
    """

    arrival_s: float
    slo_s: float | None
    kept: Mapping[bytes, bytes]

    @property
    def json_bytes(self) -> int | None:
        """Length of the JSON in front of raw tensors; None where all of the body is JSON. Raises `BadRequest`."""
        length = self.kept.get(BINARY)
        if length is None:
            return None
        if not length.isdigit() or len(length) > MOST_DIGITS:
            raise BadRequest(
                f"inference-header-content-length must be a number of bytes, not {shown(length.decode('latin-1'))}"
            )
        return int(length)


class Intake:
    """Counts the requests of one router and reads them; ``clock`` is the router's.

    ``age``, ``wait``, ``shedding`` and ``refusals`` are for the proxy in front, ``clients`` has what each client may
    send.
    """

    def __init__(
        self,
        limits: IntakeLimits,
        age: RequestAge,
        wait: FrontWait,
        shedding: FrontShedding,
        refusals: ProxyRefusals,
        clients: TokenBuckets | None,
        clock: Callable[[], float],
    ) -> None:
        self._limits = limits
        self._age = age
        self._clients = clients
        self._clock = clock
        self._client_header = (limits.client_header or "").lower().encode()
        self._refusals = refusals
        self.wait = wait
        self.shedding = shedding
        self.requests = 0

    @property
    def max_body_bytes(self) -> int:
        """The most that a body may have, on whatever path."""
        return self._limits.max_body_bytes

    def begin(self, scope: Scope) -> Head:
        """Let a request in, which `end` must follow; raises why it is not, and then it must not."""
        headers = scope["headers"]
        age_s = self._age.age_s(headers)
        now_s = self._clock()
        if DIRECT in scope:
            self.wait.saw(age_s)
        if self._clients is not None and (wait_s := self._clients.take(self._client(scope), now_s)) > 0.0:
            error = RateLimited(f"more queries than this client may send; the next may come in {wait_s:.3f} s")
            error.retry_after_s = wait_s
            raise error
        if self.requests >= self._limits.max_requests:
            raise Saturated(f"the router has {self.requests} requests in progress and takes no more; try again later")
        slo_s = None
        kept: dict[bytes, bytes] = {}
        for name, value in headers:
            if name not in LOOKED_AT:
                continue
            if name in KEPT:
                kept[name] = value
            elif name == LENGTH:
                if value.isdigit() and int(value) > self._limits.max_body_bytes:
                    raise self._too_large(int(value))
            elif (given_s := _given_s(name, value)) is not None:
                slo_s = given_s if slo_s is None else min(slo_s, given_s)
        self.requests += 1
        return Head(now_s - age_s, slo_s, kept)

    def refused_by_proxy(self, scope: Scope, head: Head) -> int:
        """Requests of the same path that the proxy has refused since the one before this."""
        counter = head.kept.get(REFUSED)
        if counter is None:
            return 0
        path = scope.get("raw_path") or scope["path"].encode()  # as the proxy has it, who counts by it
        more = self._refusals.more(path, counter)
        if more:
            self.wait.refused_in_front()
        return more

    def end(self) -> None:
        """A request that was let in has its answer, or nobody waits for it."""
        self.requests -= 1

    async def body(self, receive: Receive, coding: bytes | None = None) -> bytes:
        """The whole body, expanded where it came in a ``coding``.

        Raises why there is none, and `ClientGone` where there is nobody to tell.
        """
        try:
            first = Stepped[Message](receive())  # type: ignore[arg-type]
            if first.done and first.result is not None and not first.result.get("more_body"):
                messages = [first.result]  # the usual case: all of it is there
            else:
                async with asyncio.timeout(self._limits.body_timeout_s):
                    messages = await self._messages(first, receive)
        except TimeoutError:
            raise TooSlow(f"the body did not come within {self._limits.body_timeout_s:g} s; send it faster") from None
        except Exception as error:  # of Serve's proxy, which raises what it likes where a request is cancelled
            raise Interrupted(
                f"the request was cut off while it was read ({type(error).__name__}); try again"
            ) from error
        parts = [message.get("body", b"") for message in messages]
        if (size_bytes := sum(map(len, parts))) > self._limits.max_body_bytes:
            raise self._too_large(size_bytes)
        if messages[-1]["type"] == "http.disconnect":
            raise ClientGone
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        return body if coding is None else await expanded(body, coding, self._limits.max_body_bytes)

    async def _messages(self, first: Stepped[Message], receive: Receive) -> list[Message]:
        """All of a request, or as much as is too much."""
        message = first.result if first.done else await first
        assert message is not None
        messages = [message]
        size_bytes = len(message.get("body", b""))
        while messages[-1].get("more_body") and size_bytes <= self._limits.max_body_bytes:
            messages.append(await receive())
            size_bytes += len(messages[-1].get("body", b""))
        return messages

    def _client(self, scope: Scope) -> str:
        """The name of whose key or token it is, else what the header says where the config names one, else empty."""
        known = caller_of(scope).name
        if known or not self._client_header:
            return known
        return next((v.decode("latin-1") for name, v in scope["headers"] if name == self._client_header), "")

    def _too_large(self, size_bytes: int) -> TooLarge:
        return TooLarge(
            f"the body has {size_bytes} bytes and may have {self._limits.max_body_bytes}; "
            "split the batch or raise max_body_bytes"
        )


def asks_for_itself(body: bytes, json_bytes: int | None = None) -> bool:
    """Whether an undecoded body may ask for other than its endpoint's objective and normal priority."""
    content = body if json_bytes is None else body[:json_bytes]
    return any(wish in content for wish in OWN_WISHES)


def _given_s(name: bytes, value: bytes) -> float | None:
    """A header's time in seconds; None where it is no number, says that there is no limit, or asks what none may."""
    if name == GRPC_TIMEOUT:
        value, unit_s = value[:-1], GRPC_UNITS_S.get(value[-1:], 0.0)
    else:
        unit_s = TIMEOUTS_S[name]
    try:
        given_s = float(value) * unit_s
    except ValueError:
        return None
    return given_s if SHORTEST_S <= given_s <= LONGEST_S else None


def begun(intake: Intake, router: Router, endpoint: str, scope: Scope) -> Head:
    """`Intake.begin`, where those of an endpoint that are not let in count as what they are."""
    try:
        return intake.begin(scope)
    except (RateLimited, Saturated) as error:
        router.refusals.at_the_door(endpoint, error)
        raise
