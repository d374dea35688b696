"""The edge before a router, in virtual time: what is refused undecoded, and what a client that leaves costs."""

import asyncio
import gc
import gzip

import numpy as np
import orjson
import pytest
from edge_scene import BATCH_S, BODY, LEARNED, Request, rush, serving, status

from catalog.errors import AccordError
from router_scene import now_s, settled, virtually
from serve_app.http.edge import inferred_endpoint
from serve_app.http.in_front.refusals import HEADER as REFUSED
from serve_app.http.in_front.request_age import HEADER
from serve_app.http.in_front.shedding import HEADER as SHED
from serve_app.http.in_front.wait import HEADER as WAIT


@virtually
async def test_a_query_is_answered() -> None:
    async with serving() as (_, edge):
        request = Request(edge)
        await request.task
        assert (request.status, request.answer["outputs"][0]["data"]) == (200, [6.0])


@virtually
async def test_a_version_that_is_not_there_is_said_so() -> None:
    async with serving() as (_, edge):
        first, second = (Request(edge, path=f"/v2/models/digits/versions/{number}/infer") for number in (1, 2))
        await asyncio.gather(first.task, second.task)
        assert (first.status, second.status, second.answer["reason"]) == (200, 404, "UnknownVersion")


@virtually
async def test_a_version_is_what_the_path_has_behind_the_endpoint() -> None:
    """And not what the prefix of the application, or the endpoint's own name, says of versions."""
    async with serving() as (_, edge):
        root = "/api/versions/2"
        below = [Request(edge, path=f"{root}/v2/models/digits{v}/infer", root=root) for v in ("", "/versions/3")]
        named = Request(edge, path="/v2/models/versions/infer", endpoint="versions")
        await asyncio.gather(*(request.task for request in (*below, named)))
        assert [request.status for request in below] == [200, 404]
        assert "'3'" in below[1].answer["error"]
        assert named.answer["reason"] == "UnknownEndpoint"


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v2/models/digits/infer", "digits"),
        ("/v2/models/digits/versions/7/infer", "digits"),
        ("/v2/models/versions/infer", "versions"),
        ("/v2/models/digits/stats/infer", None),
        ("/v2/models/digits/versions/1/2/infer", None),
        ("/v2/models/digits/versions/infer", None),
        ("/v2/models/digits/ready", None),
    ],
)
def test_inference_is_told_by_its_path(path: str, endpoint: str | None) -> None:
    assert inferred_endpoint(path) == endpoint


@virtually
async def test_every_request_of_a_rush_is_answered_once_and_the_refused_at_once() -> None:
    async with serving() as (scene, edge):
        requests = await rush(edge)
        refused = [request for request in requests if request.sent]
        assert refused
        assert {(request.status, request.reason) for request in refused} == {(429, "rejected-slo-infeasible")}
        assert all(request.answer["retry_after_s"] > 0 for request in refused)
        await asyncio.gather(*(request.task for request in requests))
        assert all(len(request.sent) == 2 for request in requests)
        seen = status(scene)
        assert seen["arrived"] == LEARNED + len(requests) == seen["answered"] + seen["rejected"]
        assert seen["rejected_by_code"] == {"rejected-slo-infeasible": len(refused)}


@virtually
async def test_what_is_refused_in_any_case_is_not_decoded() -> None:
    async with serving() as (_, edge):
        await rush(edge)
        broken, asking = Request(edge, b"{no json"), Request(edge, b'{"parameters": {"slo_ms": 5000}, no json')
        await settled()
        assert (broken.status, asking.status) == (429, 400), "the second one may have a longer deadline"


def errors() -> int:
    return sum(issubclass(type(each), AccordError) for each in gc.get_objects())


@virtually
async def test_who_is_refused_leaves_nothing_for_the_garbage_collector() -> None:
    async with serving() as (_, edge):
        gc.collect()
        gc.disable()
        before = errors()
        try:
            requests = [*await rush(edge), *(Request(edge, b"{no json") for _ in range(10))]
            await asyncio.gather(*(request.task for request in requests))
            broken = [Request(edge, b"{no json") for _ in range(10)]
            await asyncio.gather(*(request.task for request in broken))
            assert {request.status for request in requests} == {200, 429}
            assert {request.status for request in broken} == {400}
            del requests, broken
            await settled()
            assert errors() - before <= 2, "the last of each, at most"
        finally:
            gc.enable()


@virtually
@pytest.mark.parametrize(
    ("headers", "sheds"),
    [([], True), ([(b"x-request-timeout-seconds", b"0.1")], False), ([(b"content-encoding", b"identity")], False)],
    ids=["objective", "time of its own", "compressed"],
)
async def test_the_proxy_hears_what_share_to_refuse_of_those_that_ask_for_no_more_than_the_objective(
    headers: list[tuple[bytes, bytes]], sheds: bool
) -> None:
    async with serving() as (_, edge):
        requests = []
        for _ in range(100):
            requests += [Request(edge, headers=headers) for _ in range(10)]
            await asyncio.sleep(0.01)
        last = Request(edge)
        await asyncio.gather(last.task, *(request.task for request in requests))
        assert (int(dict(last.sent[0]["headers"])[SHED]) > 500) is sheds


@virtually
async def test_who_did_not_come_through_the_proxy_hears_nothing_that_is_for_it() -> None:
    async with serving() as (_, edge):
        request = Request(edge, direct=False)
        await request.task
        assert not [name for name, _ in request.sent[0]["headers"] if name.startswith(b"x-accord-")]


@virtually
async def test_what_the_proxy_has_refused_counts_as_queries_that_came_and_were_refused() -> None:
    async with serving() as (scene, edge):
        for counter in (b"40-7-boot", b"100-7-boot", b"100-7-boot"):
            request = Request(edge, headers=[(REFUSED, counter)])
            await request.task
            assert request.status == 200
        seen = status(scene)
        assert (seen["arrived"], seen["answered"]) == (LEARNED + 63, LEARNED + 3)
        assert seen["rejected_by_code"] == {"rejected-saturated": 60}
        report = scene.router.observer.meter.report(1, scene.router.router_state())
        assert (report.arrived, report.violated) == ({"digits": LEARNED + 63}, {"digits": 60})


async def told_after(counters: list[bytes]) -> int:
    """What the proxy is told of the router's load, in percent, with the answer to the last of some requests."""
    async with serving() as (_, edge):
        for counter in counters:
            request = Request(edge, headers=[(REFUSED, counter)])
            await request.task
        return int(dict(request.sent[0]["headers"])[b"x-accord-wait"])


@virtually
async def test_how_long_answers_take_counts_while_the_proxy_refuses() -> None:
    assert await told_after([b"40-7-boot"] * 20) == 0
    assert await told_after([b"%d-7-boot" % (40 + number) for number in range(20)]) > 0


@virtually
async def test_a_client_that_leaves_takes_its_query_along() -> None:
    async with serving() as (scene, edge):
        running, waiting = Request(edge), Request(edge)
        await settled()
        assert scene.queued == 1
        waiting.leave()
        await settled()
        assert scene.queued == 0
        assert (waiting.task.done(), waiting.sent) == (True, [])
        running.leave()
        await settled()
        assert (running.task.done(), running.sent) == (True, [])
        await asyncio.sleep(2 * BATCH_S)
        seen = status(scene)
        assert (seen["cancelled"], seen["answered"], seen["violations"]) == (2, LEARNED, 0)
        after = Request(edge)
        await after.task
        assert after.status == 200


@virtually
async def test_a_request_that_came_too_late_is_refused_undecoded() -> None:
    async with serving() as (_, edge):
        await asyncio.sleep(1.0)
        received = b"%d-boot" % round((1000.0 + now_s() - 0.2) * 1e6)
        request = Request(edge, b"{no json", [(HEADER, received)])
        await request.task
        assert (request.status, request.reason) == (504, "rejected-ttl-expired")


@virtually
async def test_time_before_the_router_counts_as_latency() -> None:
    async with serving() as (_, edge):
        await asyncio.sleep(1.0)
        request = Request(edge, headers=[(HEADER, b"%d-boot" % round((1000.0 + now_s() - 0.03) * 1e6))])
        await request.task
        assert request.status == 200
        assert request.answer["parameters"]["latency_ms"] == 70.0


@virtually
async def test_the_time_of_a_header_is_the_querys_where_it_is_the_smallest() -> None:
    async with serving() as (_, edge):
        short = Request(edge, headers=[(b"x-request-timeout-seconds", b"0.0002")])
        await short.task
        assert (short.status, short.reason) == (429, "rejected-slo-infeasible")


@virtually
async def test_a_router_has_only_so_many_requests_in_progress() -> None:
    async with serving(max_requests=2) as (_, edge):
        requests = await rush(edge, 5)
        assert [request.reason for request in requests if request.sent] == ["rejected-saturated"] * 3
        await asyncio.gather(*(request.task for request in requests))
        assert [request.status for request in requests] == [200, 200, 429, 429, 429]


@virtually
async def test_a_higher_priority_takes_a_place_and_the_other_client_is_told() -> None:
    async with serving() as (_, edge):
        await rush(edge)
        urgent = Request(edge, BODY[:-1] + b',"parameters":{"priority":1}}')
        await urgent.task
        assert urgent.status == 200


def raw_request(values: list[float], **parameters: bool) -> tuple[bytes, bytes]:
    """A body with one raw tensor, and the length of its JSON as the header says it."""
    tail = np.array(values, "<f4").tobytes()
    tensor = {"name": "x", "shape": [len(values)], "datatype": "FP32", "parameters": {"binary_data_size": len(tail)}}
    head = orjson.dumps({"inputs": [tensor], "parameters": parameters})
    return head + tail, b"%d" % len(head)


@virtually
async def test_raw_tensors_go_both_ways() -> None:
    async with serving() as (_, edge):
        body, length = raw_request([3.0, 5.0], binary_data_output=True)
        request = Request(edge, body, [(b"inference-header-content-length", length)])
        await request.task
        headers, content = dict(request.sent[0]["headers"]), request.sent[1]["body"]
        assert (request.status, headers[b"content-type"]) == (200, b"application/octet-stream")
        json_bytes = int(headers[b"inference-header-content-length"])
        assert orjson.loads(content[:json_bytes])["outputs"][0]["parameters"] == {"binary_data_size": 8}
        assert np.frombuffer(content[json_bytes:], "<f4").tolist() == [6.0, 10.0]
        wrong = Request(edge, body, [(b"inference-header-content-length", b"%d" % (len(body) + 1))])
        await wrong.task
        assert wrong.status == 400


@virtually
async def test_what_raw_bytes_look_like_is_no_wish_of_the_client() -> None:
    async with serving() as (_, edge):
        await rush(edge)
        tail = b'"priority"' + b".."
        tensor = {"name": "x", "shape": [3], "datatype": "FP32", "parameters": {"binary_data_size": len(tail)}}
        head = orjson.dumps({"inputs": [tensor]})
        request = Request(edge, head + tail, [(b"inference-header-content-length", b"%d" % len(head))])
        await settled()
        assert (request.status, request.reason) == (429, "rejected-slo-infeasible")


@virtually
async def test_a_compressed_request_is_read_and_ids_go_back_with_every_answer() -> None:
    async with serving() as (_, edge):
        kept = [(b"x-request-id", b"mine"), (b"traceparent", b"00-1-2-01")]
        good = Request(edge, gzip.compress(BODY), [(b"content-encoding", b"gzip"), *kept])
        bad = Request(edge, b"{no json", kept)
        await asyncio.gather(good.task, bad.task)
        assert (good.status, good.answer["id"], bad.status) == (200, "mine", 400)
        for request in (good, bad):
            assert set(kept) <= set(request.sent[0]["headers"])


@virtually
async def test_a_client_that_asks_for_next_to_no_time_is_no_want_of_capacity() -> None:
    async with serving() as (_, edge):
        impatient = BODY.replace(b'{"inputs"', b'{"parameters":{"slo_ms":1},"inputs"')
        for _ in range(300):
            request = Request(edge, impatient)
            await request.task
            assert (request.status, request.reason) == (429, "rejected-slo-infeasible")
            await asyncio.sleep(0.001)
        last = Request(edge)
        await last.task
        assert last.status == 200
        assert int(dict(last.sent[0]["headers"])[WAIT]) < 50
