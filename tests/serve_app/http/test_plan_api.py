"""The HTTP interface of the control path, around a controller that is played."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import httpx2
import orjson
import pytest

from catalog.errors import AccordError, ConfigError, NoController, NoWorker
from deployments.controller.client import ControllerClient
from deployments.router.feedback.feedback import Feedback
from deployments.router.router import Router
from serve_app.http.api import build_api

VARIANT = {
    "name": "digits-xl",
    "task": "digits",
    "runtime": "onnx",
    "artifact": {"uri": "/models/digits-xl.onnx"},
    "accuracy": 0.95,
    "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 12, 12]}],
    "outputs": [{"name": "label", "datatype": "INT64", "shape": [-1]}],
}


class PlayedController:
    """Gives back what it was asked, or raises ``error`` where that is set."""

    def __init__(self) -> None:
        self.error: AccordError | None = None
        self.asked: list[Any] = []

    async def plan(self) -> dict[str, Any]:
        return self._answer({"version": 3})

    async def plans(self) -> list[dict[str, Any]]:
        return [{"version": 2}, self._answer({"version": 3})]

    async def simulate(self, load_qps: Mapping[str, float]) -> dict[str, Any]:
        self.asked.append(load_qps)
        return self._answer({"plan": {}, "now": None})

    async def register(self, variant: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(variant)
        return self._answer({"variant": variant["name"], "profiles": {}})

    def _answer(self, content: dict[str, Any]) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return content


@pytest.fixture
def controller() -> PlayedController:
    return PlayedController()


@pytest.fixture
async def client(controller: PlayedController) -> AsyncIterator[httpx2.AsyncClient]:
    api = build_api(cast(Router, None), {}, cast(ControllerClient, controller), cast(Feedback, None))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(api), base_url="http://accord") as made:
        yield made


async def test_the_plan_and_those_before_it_are_as_the_controller_tells(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/accord/plan")).json() == {"version": 3}
    assert (await client.get("/accord/plans")).json() == {"plans": [{"version": 2}, {"version": 3}]}


async def test_loads_to_plan_for_reach_the_controller(client: httpx2.AsyncClient, controller: PlayedController) -> None:
    response = await client.post("/accord/plan/simulate", json={"load_qps": {"digits": 200, "plates": 0.5}})
    assert (response.status_code, response.json()) == (200, {"plan": {}, "now": None})
    assert controller.asked == [{"digits": 200.0, "plates": 0.5}]


async def test_a_variant_that_is_registered_reaches_the_controller_as_a_catalogue_has_it(
    client: httpx2.AsyncClient, controller: PlayedController
) -> None:
    response = await client.post("/accord/variants", json=VARIANT)
    assert (response.status_code, response.json()) == (201, {"variant": "digits-xl", "profiles": {}})
    (asked,) = controller.asked
    assert asked["inputs"][0]["shape"] == [-1, 12, 12]
    assert (await client.post("/accord/variants", json=asked)).status_code == 201
    assert controller.asked == [asked, asked]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("plan/simulate", {"load_qps": {"digits": -1}}, "body.load_qps.digits: Input should be greater than or equal"),
        ("plan/simulate", {"load_qps": {"digits": "many"}}, "(given: 'many')"),
        ("plan/simulate", {"load_qps": {"digits": "inf"}}, "body.load_qps.digits: Input should be a finite number"),
        ("plan/simulate", {"loads": {}}, "body.load_qps: Field required"),
        ("variants", VARIANT | {"accuracy": 95}, "body.accuracy: Input should be less than or equal to 1 (given: 95)"),
        ("variants", VARIANT | {"accurracy": 0.9}, "body.accurracy"),
        ("variants", {"name": "digits-xl"}, "body.artifact: Field required"),
        ("variants", b"{", "JSON decode error"),
    ],
)
async def test_a_wrong_body_is_told_why_and_never_reaches_the_controller(
    client: httpx2.AsyncClient, controller: PlayedController, path: str, body: Any, message: str
) -> None:
    kind = (
        {"content": body, "headers": {"content-type": "application/json"}}
        if isinstance(body, bytes)
        else {"json": body}
    )
    response = await client.post(f"/accord/{path}", **kind)
    assert response.status_code == 400
    assert response.json().keys() == {"error", "reason", "retryable"}
    assert response.json()["reason"] == "BadRequest"
    assert message in response.json()["error"]
    assert controller.asked == []


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/x-www-form-urlencoded"}])
async def test_a_body_is_json_whatever_content_type_a_client_names(
    client: httpx2.AsyncClient, controller: PlayedController, headers: dict[str, str]
) -> None:
    loads = orjson.dumps({"load_qps": {"digits": 3}})
    simulated = await client.post("/accord/plan/simulate", content=loads, headers=headers)
    assert simulated.status_code == 200
    assert controller.asked[0] == {"digits": 3.0}
    wrong = await client.post("/accord/plan/simulate", content=b'{"load_qps": 3}', headers=headers)
    assert (wrong.status_code, wrong.json()["reason"]) == (400, "BadRequest")
    assert "body.load_qps: Input should be a valid dictionary (given: 3)" in wrong.json()["error"]


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain"])
async def test_a_variant_is_taken_as_json_alone_since_any_page_may_post_what_a_form_does(
    client: httpx2.AsyncClient, controller: PlayedController, content_type: str
) -> None:
    headers = {"content-type": content_type}
    refused = await client.post("/accord/variants", content=orjson.dumps(VARIANT), headers=headers)
    assert refused.status_code == 400
    assert refused.json()["error"].endswith("send it with the header Content-Type: application/json")
    assert controller.asked == []


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [(NoController("the controller did not answer"), 503, True), (ConfigError("no such runtime"), 500, False)],
)
async def test_what_the_controller_raises_is_answered_like_any_error(
    client: httpx2.AsyncClient, controller: PlayedController, error: AccordError, status: int, retryable: bool
) -> None:
    controller.error = error
    for response in (await client.get("/accord/plan"), await client.post("/accord/variants", json=VARIANT)):
        assert response.status_code == status
        expected = {"error": str(error), "reason": type(error).__name__, "retryable": retryable}
        assert response.json() == expected


async def test_the_openapi_page_has_every_path(client: httpx2.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert {"/accord/plan", "/accord/plans", "/accord/plan/simulate", "/accord/variants"} <= paths.keys()
    assert "/v2/models/{endpoint}/feedback" in paths


async def test_a_refusal_has_the_headers_that_one_of_inference_has(
    client: httpx2.AsyncClient, controller: PlayedController
) -> None:
    controller.error = NoWorker("no worker of pool 'cpu' is there")
    response = await client.post("/accord/plan/simulate", json={"load_qps": {"digits": 1}})
    assert (response.status_code, response.json()["code"]) == (503, "rejected-no-endpoints")
    assert (response.headers["x-accord-reason"], response.headers["retry-after"]) == ("rejected-no-endpoints", "2")
