import asyncio
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from serve_app.loadgen.answer import BAD_ANSWER, NO_ANSWER
from serve_app.loadgen.client import WRONG_ANSWER, OpenLoopClient
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.record import Run
from serve_app.loadgen.report import summarise
from workload.rate import RateSchedule
from workload.renewal import Uniform

DATASET = Dataset((b'{"inputs":[]}', b'{"inputs":[1]}'), (0, 1))


def evenly(rate_qps: float, duration_s: float) -> np.ndarray:
    return Uniform(RateSchedule.constant(rate_qps)).times_s(duration_s)


async def send(url: str, rate_qps: float, duration_s: float, dataset: Dataset = DATASET, timeout_s: float = 5.0) -> Run:
    client = OpenLoopClient(url, dataset, timeout_s)
    return await client.run(evenly(rate_qps, duration_s), duration_s, asyncio.Event())


async def test_every_query_is_sent_and_recorded_once(server: Any) -> None:
    run = await send(server.infer_url, 100, 0.5)
    assert run.sent == len(run.records) == server.received == 50
    assert [record.intended_s for record in run.records] == pytest.approx([n / 100 for n in range(50)])
    assert all(record.intended_s <= record.sent_s <= record.done_s for record in run.records)
    assert {(record.status, record.variant, record.deadline_met) for record in run.records} == {(200, "small", True)}
    assert not run.interrupted


async def test_a_stalled_server_does_not_hold_back_the_queries(server: Any) -> None:
    server.gate.clear()
    sending = asyncio.create_task(send(server.infer_url, 200, 0.3))
    await server.wait_for(60)  # all of them, while not one has been answered
    assert not sending.done()
    server.gate.set()
    run = await sending
    assert len(run.records) == 60
    # the first waited for the whole stall, the last for its end only
    assert run.records[0].latency_ms > 250
    assert run.records[-1].latency_ms < run.records[0].latency_ms - 150


async def test_latency_counts_from_the_intended_instant_when_the_generator_is_held_up(server: Any) -> None:
    async def block_the_shared_loop(request: web.Request, number: int) -> web.StreamResponse:
        if number == 0:
            time.sleep(0.3)  # noqa: ASYNC251
        return server.oip_answer(0)

    server.handler = block_the_shared_loop
    run = await send(server.infer_url, 100, 0.5)
    assert run.sent == 50
    held_up = [record for record in run.records if 0.05 < record.intended_s < 0.15]
    assert all(record.lag_ms > 100 and record.latency_ms > 100 for record in held_up)
    lag = summarise(run, 100.0).lag
    assert lag.max_ms > 200
    assert lag.fell_behind


async def test_connections_are_reused(server: Any) -> None:
    await send(server.infer_url, 50, 0.6)
    assert len(server.peers) < 10


async def test_accuracy_comes_from_the_labels_of_the_data_set(server: Any) -> None:
    run = await send(server.infer_url, 100, 0.2)  # the server always says 0; labels are 0, 1, 0, 1, ...
    assert [record.correct for record in run.records] == [True, False] * 10
    report = summarise(run, 1000.0)
    assert report.total.accuracy_pct == 50.0
    assert report.total.expected_accuracy_pct == pytest.approx(90.0)


async def test_without_labels_nothing_is_right_or_wrong(server: Any) -> None:
    run = await send(server.infer_url, 100, 0.1, Dataset((b"{}",)))
    assert {record.correct for record in run.records} == {None}


async def test_errors_are_counted_by_kind(server: Any) -> None:
    async def fail_in_turn(request: web.Request, number: int) -> web.StreamResponse:
        match number % 5:
            case 0:
                return server.oip_answer(0)
            case 1:
                return web.json_response({"error": "the queue is full", "reason": "saturated"}, status=429)
            case 2:
                return web.Response(text="broken", status=500)
            case 3:
                return web.Response(text="hello")
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    server.handler = fail_in_turn
    run = await send(server.infer_url, 50, 0.5)
    assert Counter(record.error_kind for record in run.records) == {
        None: 5,
        "saturated": 5,
        "http_500": 5,
        "bad_answer": 5,
        "connection_lost": 5,
    }
    assert summarise(run, 1000.0).total.violations == 20


async def test_an_answer_that_cannot_be_followed_is_an_error_too(server: Any) -> None:
    async def redirect(request: web.Request, number: int) -> web.StreamResponse:
        if number % 2:
            return web.Response(headers={"Inference-Header-Content-Length": "9" * 5000})
        return web.Response(status=307, headers={"Location": f"http://{'a' * 300}/"})

    server.handler = redirect
    run = await send(server.infer_url, 50, 0.2)
    assert run.sent == len(run.records) == 10
    assert Counter((record.status, record.error_kind) for record in run.records) == {
        (NO_ANSWER, BAD_ANSWER): 5,
        (200, BAD_ANSWER): 5,
    }
    assert "UnicodeError" in str(run.records[0].error)


async def test_a_query_without_an_answer_times_out(server: Any) -> None:
    server.gate.clear()
    run = await send(server.infer_url, 50, 0.1, timeout_s=0.2)
    assert {record.error_kind for record in run.records} == {"timeout"}
    assert run.records[0].error == f"no answer from {server.infer_url.split('/v2')[0]} in 0.2 s"


async def test_a_refused_connection_gives_a_clear_report(closed_url: str) -> None:
    run = await send(closed_url, 50, 0.2)
    report = summarise(run, 100.0)
    assert report.errors["connection_refused"].count == run.sent == 10
    assert "nothing listens at http://127.0.0.1" in report.errors["connection_refused"].example
    assert report.total.violations_pct == 100.0


async def test_a_stop_ends_the_run_and_keeps_what_there_is(server: Any) -> None:
    stop = asyncio.Event()
    client = OpenLoopClient(server.infer_url, DATASET, timeout_s=30.0)
    running = asyncio.create_task(client.run(evenly(100, 60.0), 60.0, stop))
    await server.wait_for(20)
    server.gate.clear()
    received = server.received
    await server.wait_for(received + 5)
    assert client.sent > client.ended > 0
    stop.set()
    run = await asyncio.wait_for(running, timeout=5.0)
    assert run.interrupted
    assert run.duration_s < 30
    assert summarise(run, 100.0).unfinished >= 5


async def test_no_query_is_left_running_after_a_stop(server: Any) -> None:
    server.gate.clear()
    stop = asyncio.Event()
    running = asyncio.create_task(OpenLoopClient(server.infer_url, DATASET, 30.0).run(evenly(50, 60.0), 60.0, stop))
    await server.wait_for(3)
    stop.set()
    await asyncio.wait_for(running, timeout=5.0)
    assert not [task for task in asyncio.all_tasks() if "OpenLoopClient" in repr(task.get_coro())]


async def test_the_clock_is_a_parameter(server: Any) -> None:
    ahead = iter(range(10**9))
    client = OpenLoopClient(server.infer_url, DATASET, 5.0, clock=lambda: float(next(ahead)))
    run = await client.run(np.array([0.0, 2.0]), 3.0, asyncio.Event())
    assert all(record.sent_s.is_integer() and record.done_s.is_integer() for record in run.records)


async def test_an_answer_to_another_query_is_an_error(server: Any) -> None:
    async def answer_by_turns(request: web.Request, number: int) -> web.StreamResponse:
        body = {"id": "first" if number % 4 else "other", "outputs": [{"name": "label", "data": [0]}]}
        return web.json_response(body)

    server.handler = answer_by_turns
    run = await send(server.infer_url, 50, 0.4, Dataset((b"{}",), ids=("first",)))
    kinds = Counter(record.error_kind for record in run.records)
    assert kinds == {None: 15, WRONG_ANSWER: 5}


async def test_what_emulated_variants_answer_is_compared_where_the_data_set_is_recorded_of_them(server: Any) -> None:
    async def emulated(request: web.Request, number: int) -> web.StreamResponse:
        return web.json_response({"parameters": {"emulated": True}, "outputs": [{"name": "label", "data": [0]}]})

    server.handler = emulated
    told = [(await send(server.infer_url, 50, 0.1, Dataset((b"{}",), (0,), of_emulated=of))) for of in (False, True)]
    assert [{record.correct for record in run.records} for run in told] == [{None}, {True}]


async def test_it_is_noted_whether_a_refusal_says_when_to_come_again(server: Any) -> None:
    async def refuse(request: web.Request, number: int) -> web.StreamResponse:
        return web.json_response({"error": "x"}, status=503, headers={"Retry-After": "1"} if number % 2 else {})

    server.handler = refuse
    run = await send(server.infer_url, 50, 0.4)
    assert Counter(record.retry_after for record in run.records) == {True: 10, False: 10}
