"""Deadlines of calls, from a client through a server of gRPC to the context that Serve makes."""

import pickle

import grpc
import grpc.aio
import pytest
from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import BadRequest, DeadlineMissed, Infeasible
from serve_app.grpc.call_deadline import REMAINING, keep_call_deadlines, out_of_time, remaining_s, within_call
from serve_app.grpc.status import CODES
from serve_app.http.intake import Head

METHOD = "/test.Deadlines/Remaining"


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts as a router makes them, and as before at the end."""
    monkeypatch.setattr(RayServegRPCContext, "__init__", RayServegRPCContext.__init__)
    keep_call_deadlines()
    once = RayServegRPCContext.__init__
    keep_call_deadlines()
    assert RayServegRPCContext.__init__ is once


async def told(timeout_s: float | None, *metadata: tuple[str, str]) -> float | None:
    """What a server's method sees of a call with this deadline, after the way from a proxy to a router."""
    found: list[float | None] = []

    async def answer(_: bytes, context: grpc.aio.ServicerContext) -> bytes:
        found.append(remaining_s(pickle.loads(pickle.dumps(RayServegRPCContext(context)))))
        return b""

    server = grpc.aio.server()
    handlers = {"Remaining": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Deadlines", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await channel.unary_unary(METHOD)(b"", timeout=timeout_s, metadata=metadata)
    await server.stop(None)
    return found[0]


async def test_the_deadline_of_a_call_is_told(keeping: None) -> None:
    left_s = await told(40.0)
    assert left_s is not None
    assert 30.0 < left_s <= 40.4, "gRPC rounds what it sends up, by less than a percent"


async def test_a_call_without_one_has_none(keeping: None) -> None:
    assert await told(None) is None


async def test_of_several_words_the_shortest_counts_and_nonsense_none(keeping: None) -> None:
    assert await told(40.0, (REMAINING, "2000")) == pytest.approx(0.002)
    assert await told(None, (REMAINING, "0")) == pytest.approx(1e-6)
    assert await told(None, (REMAINING, "-3")) is None
    assert await told(None, (REMAINING, "soon")) is None


@pytest.mark.parametrize(
    ("in_head_s", "asked_s", "left_s", "slo_s"),
    [
        (None, None, None, None),  # the endpoint's objective of 1 s holds
        (None, None, 60.0, None),
        (None, None, 0.5, 0.5),
        (None, 5.0, 2.0, 2.0),
        (None, 0.2, 0.5, None),
        (0.2, 5.0, 0.5, 0.2),
        (5.0, 4.0, 3.0, 3.0),
    ],
)
def test_a_call_only_shortens_what_a_query_has(
    in_head_s: float | None, asked_s: float | None, left_s: float | None, slo_s: float | None
) -> None:
    assert within_call(Head(7.0, in_head_s, {}), asked_s, 1.0, left_s) == Head(7.0, slo_s, {})


@pytest.mark.parametrize("spent_s", [1e-6, 1e-7, 1.0], ids=["at", "within the way back", "after"])
def test_an_error_that_comes_after_the_calls_own_deadline_is_that_deadline(spent_s: float) -> None:
    error = Infeasible("no variant answers within 0.0 ms")
    told = out_of_time(error, 1e-6, spent_s)
    assert isinstance(told, DeadlineMissed)
    assert CODES[told.status] is grpc.StatusCode.DEADLINE_EXCEEDED
    assert str(told) == "the call had 0.001 ms left when it came: no variant answers within 0.0 ms"


def test_errors_that_come_sooner_or_are_the_clients_stay_as_they_are() -> None:
    overload, wrong, bug = Infeasible("too much is before it"), BadRequest("no such tensor"), RuntimeError("a bug")
    assert out_of_time(overload, 0.5, 0.4) is overload
    assert out_of_time(overload, None, 9.0) is overload
    assert out_of_time(wrong, 0.5, 9.0) is wrong
    assert out_of_time(bug, 0.5, 9.0) is bug
