"""What a request has to pass before its body is decoded."""

import asyncio
import gzip
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message, Receive

from catalog.errors import BadRequest, Interrupted, RateLimited, Saturated, TooLarge, TooSlow
from dispatch.admission.token_buckets import RateLimit, TokenBuckets
from router_scene import now_s, virtually
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import HEADER, RequestAge
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.intake import DIRECT, ClientGone, Intake, IntakeLimits, asks_for_itself
from serve_app.http.security.caller import Caller, Role, remember

BOOT = "boot"


def intake(clients: TokenBuckets | None = None, header: str | None = None, **limits: Any) -> Intake:
    given = {"max_body_bytes": 100, "body_timeout_s": 2.0, "max_requests": 3} | limits
    age = RequestAge(BOOT, lambda: 1000.0)
    return Intake(
        IntakeLimits(**given, client_header=header),
        age,
        FrontWait(0.1, lambda: 50.0),
        FrontShedding([], lambda: 50.0),
        ProxyRefusals(BOOT),
        clients,
        lambda: 50.0,
    )


def scope(*headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http", "headers": list(headers)}


def sending(*messages: Message | Exception, pause_s: float = 0.0) -> Receive:
    left = list(messages)

    async def receive() -> Message:
        await asyncio.sleep(pause_s)
        message = left.pop(0)
        if isinstance(message, Exception):
            raise message
        return message

    return receive


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


# -- before the body --------------------------------------------------------------------------------------------


def test_a_request_counts_from_when_the_proxy_had_it() -> None:
    made = intake()
    assert made.begin(scope()).arrival_s == 50.0
    aged = made.begin(scope((HEADER, b"999750000-" + BOOT.encode())))
    assert aged.arrival_s == pytest.approx(49.75)


def test_requests_that_waited_in_serves_proxy_did_not_wait_for_the_event_loop() -> None:
    made = intake(max_requests=1000)
    aged = scope((HEADER, b"997000000-" + BOOT.encode()))
    for _ in range(200):
        assert made.begin(aged).arrival_s == pytest.approx(47.0)
    assert made.wait.headers[0][1] == b"0"
    made.begin(aged | {DIRECT: True})
    assert int(made.wait.headers[0][1]) > 0


@pytest.mark.parametrize(
    ("headers", "slo_s"),
    [
        ([], None),
        ([(b"x-request-timeout-seconds", b"0.25")], 0.25),
        ([(b"x-envoy-expected-rq-timeout-ms", b"80")], 0.08),
        ([(b"x-request-timeout-seconds", b"0.25"), (b"x-envoy-expected-rq-timeout-ms", b"80")], 0.08),
        ([(b"x-request-timeout-seconds", b"0")], None),
        ([(b"x-request-timeout-seconds", b"-1")], None),
        ([(b"x-request-timeout-seconds", b"inf")], None),
        ([(b"x-request-timeout-seconds", b"soon")], None),
        ([(b"grpc-timeout", b"250m")], 0.25),
        ([(b"grpc-timeout", b"2S"), (b"x-request-timeout-seconds", b"0.5")], 0.5),
        ([(b"grpc-timeout", b"1H")], 3600.0),
        ([(b"grpc-timeout", b"5x")], None),
        ([(b"grpc-timeout", b"")], None),
        ([(b"grpc-timeout", b"0u")], None),
    ],
)
def test_the_smallest_time_of_the_headers_counts(headers: Sequence[tuple[bytes, bytes]], slo_s: float | None) -> None:
    assert intake().begin(scope(*headers)).slo_s == (None if slo_s is None else pytest.approx(slo_s))


def test_only_so_many_requests_are_in_progress() -> None:
    made = intake()
    for _ in range(3):
        made.begin(scope())
    with pytest.raises(Saturated, match="3 requests in progress"):
        made.begin(scope())
    made.end()
    made.begin(scope())


def test_a_client_over_its_rate_is_told_when_to_come_again_and_holds_no_place() -> None:
    made = intake(TokenBuckets(RateLimit(2.0, 1.0), {}))
    made.begin(scope())
    with pytest.raises(RateLimited) as refused:
        made.begin(scope())
    assert refused.value.retry_after_s == pytest.approx(0.5)
    assert (refused.value.status, refused.value.code) == (429, "rejected-rate-limited")
    assert made.requests == 1


def test_clients_are_told_apart_by_their_key_and_else_by_the_header_that_the_config_names() -> None:
    one_each = TokenBuckets(RateLimit(1.0, 1.0), {})
    made = intake(one_each, header="X-Accord-Client", max_requests=100)

    def comes(client: bytes, key: str = "") -> bool:
        asked = scope((b"x-accord-client", client))
        if key:
            remember(asked, Caller(key, frozenset(Role)))
        try:
            made.begin(asked)
        except RateLimited:
            return False
        return True

    assert [comes(b"a"), comes(b"a"), comes(b"b")] == [True, False, True]
    assert [comes(b"c", key="shop"), comes(b"d", key="shop"), comes(b"c", key="bank")] == [True, False, True]


def test_without_such_a_header_those_without_a_key_share_one_limit() -> None:
    made = intake(TokenBuckets(RateLimit(1.0, 1.0), {}), max_requests=100)
    made.begin(scope((b"x-accord-client", b"a")))
    with pytest.raises(RateLimited):
        made.begin(scope((b"x-accord-client", b"b")))


# -- the body ---------------------------------------------------------------------------------------------------


async def test_a_body_comes_in_parts() -> None:
    body = await intake().body(sending(part(b"ab", more=True), part(b"cd", more=True), part(b"e")))
    assert body == b"abcde"


@pytest.mark.parametrize(
    ("headers", "messages"),
    [
        ([(b"content-length", b"101")], []),
        ([], [part(b"x" * 60, more=True), part(b"x" * 60, more=True), part(b"never read")]),
        ([], [part(b"x" * 101)]),
    ],
)
async def test_a_body_that_is_too_large_is_not_read_to_its_end(
    headers: list[tuple[bytes, bytes]], messages: list[Message]
) -> None:
    async def read() -> None:
        made = intake()
        made.begin(scope(*headers))
        await made.body(sending(*messages))

    with pytest.raises(TooLarge):
        await read()


def test_the_length_of_the_json_in_front_of_raw_tensors_is_a_number() -> None:
    made = intake(max_requests=9)
    assert made.begin(scope()).json_bytes is None
    assert made.begin(scope((b"inference-header-content-length", b"10"))).json_bytes == 10
    for wrong in (b"", b"-1", b"1e3", b"ten", b"9" * 5000):
        head = made.begin(scope((b"inference-header-content-length", wrong)))
        with pytest.raises(BadRequest, match="must be a number of bytes, not"):
            _ = head.json_bytes


async def test_a_compressed_body_is_bounded_by_what_it_holds() -> None:
    made = intake()
    assert await made.body(sending(part(gzip.compress(b"x" * 100))), b"gzip") == b"x" * 100
    with pytest.raises(TooLarge, match="hold more than 100"):
        await made.body(sending(part(gzip.compress(b"x" * 101))), b"gzip")


@virtually
async def test_a_body_that_trickles_in_gets_408_however_often_a_byte_comes() -> None:
    began_s = now_s()
    with pytest.raises(TooSlow, match="within 2 s") as slow:
        await intake().body(sending(*[part(b"x", more=True)] * 50, pause_s=0.3))
    assert now_s() - began_s == pytest.approx(2.0)
    assert slow.value.status == 408


@pytest.mark.parametrize("before", [[], [part(b"ab", more=True)]])
async def test_a_client_that_leaves_meanwhile_gets_nothing(before: list[Message]) -> None:
    with pytest.raises(ClientGone):
        await intake().body(sending(*before, {"type": "http.disconnect"}))


async def test_what_a_proxy_cuts_off_is_no_fault_of_the_service() -> None:
    with pytest.raises(Interrupted) as cut:
        await intake().body(sending(RuntimeError("task was cancelled")))
    assert (cut.value.status, cut.value.retryable) == (503, True)


@pytest.mark.parametrize("wish", ["slo_ms", "timeout", "priority"])
def test_a_body_that_asks_for_itself_is_told_by_its_bytes(wish: str) -> None:
    assert asks_for_itself(b'{"parameters":{"%s":5},"inputs":[]}' % wish.encode())
    assert not asks_for_itself(b'{"inputs":[]}')
