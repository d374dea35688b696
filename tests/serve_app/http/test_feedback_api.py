"""``POST /v2/models/{endpoint}/feedback``: what clients may say, and what they are told."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import httpx2
import pytest

from catalog.errors import BadRequest
from deployments.controller.client import ControllerClient
from deployments.router.feedback.feedback import Feedback
from deployments.router.feedback.labels import Label
from deployments.router.router import Router
from dispatch.ensemble.ground_truth import Told
from serve_app.http import feedback_api
from serve_app.http.api import build_api
from serve_app.http.endpoint_info import EndpointInfo


class PlayedFeedback:
    """Says of each label what it is told to, by id; keeps what it was given."""

    def __init__(self) -> None:
        self.says: dict[str, Told] = {}
        self.error: Exception | None = None
        self.given: list[tuple[str, Sequence[Label]]] = []

    async def tell(self, endpoint: str, labels: Sequence[Label]) -> list[Told]:
        self.given.append((endpoint, labels))
        if self.error is not None:
            raise self.error
        return [self.says.get(request_id, Told.MATCHED) for request_id, _ in labels]


@pytest.fixture
def feedback() -> PlayedFeedback:
    return PlayedFeedback()


@pytest.fixture
async def client(feedback: PlayedFeedback) -> AsyncIterator[httpx2.AsyncClient]:
    endpoints = {
        "digits": EndpointInfo("digits", {"": "digits"}, (), (), ("nought", "one", "two"), 8),
        "plain": EndpointInfo("plain", {"": "plain"}, (), (), (), 8),
    }
    given: Any = feedback
    api = build_api(cast(Router, None), endpoints, cast(ControllerClient, None), cast(Feedback, given))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(api), base_url="http://accord") as made:
        yield made


async def tell(client: httpx2.AsyncClient, body: Any, endpoint: str = "digits") -> httpx2.Response:
    return await client.post(f"/v2/models/{endpoint}/feedback", json=body)


async def test_a_label_is_a_number_or_a_name(client: httpx2.AsyncClient, feedback: PlayedFeedback) -> None:
    for label in (2, "two", [2], ["two"]):
        response = await tell(client, {"id": "x", "label": label})
        assert response.status_code == 200
        counts = {"matched": 1, "duplicate": 0, "expired": 0, "unknown": 0}
        assert response.json() == {**counts, "results": [{"id": "x", "result": "matched"}]}
    assert feedback.given == [("digits", [("x", (2,))])] * 4


async def test_a_label_may_come_without_a_content_type_and_a_wrong_one_is_told_by_its_field(
    client: httpx2.AsyncClient, feedback: PlayedFeedback
) -> None:
    path, form = "/v2/models/digits/feedback", {"content-type": "application/x-www-form-urlencoded"}
    for headers in ({}, form):
        assert (await client.post(path, content=b'{"id": "x", "label": 2}', headers=headers)).status_code == 200
    assert feedback.given == [("digits", [("x", (2,))])] * 2
    assert (await tell(client, {"id": "x", "lable": 1})).json()["error"] == (
        "body.label: Field required; body.lable: Extra inputs are not permitted (given: 1)"
    )
    several = await tell(client, {"feedback": [{"id": "x"}]})
    assert several.json()["error"] == "body.feedback.0.label: Field required"


async def test_several_answers_are_labelled_at_once_each_with_all_its_rows(
    client: httpx2.AsyncClient, feedback: PlayedFeedback
) -> None:
    feedback.says = {"y": Told.DUPLICATE, "z": Told.UNKNOWN, "old": Told.EXPIRED}
    labels = [("x", ["one", 2]), ("y", 0), ("z", "nought"), ("old", 1), ("x", [1, 1])]
    response = await tell(client, {"feedback": [{"id": name, "label": label} for name, label in labels]})
    assert response.status_code == 200
    results = [("x", "matched"), ("y", "duplicate"), ("z", "unknown"), ("old", "expired"), ("x", "matched")]
    assert response.json() == {
        "matched": 2,
        "duplicate": 1,
        "expired": 1,
        "unknown": 1,
        "results": [{"id": name, "result": result} for name, result in results],
    }
    assert feedback.given == [("digits", [("x", (1, 2)), ("y", (0,)), ("z", (0,)), ("old", (1,)), ("x", (1, 1))])]


async def test_a_name_that_is_no_label_is_refused_with_the_nearest(
    client: httpx2.AsyncClient, feedback: PlayedFeedback
) -> None:
    response = await tell(client, {"feedback": [{"id": "x", "label": 1}, {"id": "y", "label": "tow"}]})
    assert response.status_code == 400
    assert response.json() == {
        "error": "feedback for id 'y': label 'tow' is unknown (did you mean 'two'?); endpoint 'digits' has nought, "
        "one, two",
        "reason": "BadRequest",
        "retryable": False,
    }
    unnamed = await tell(client, {"id": "x", "label": "one"}, "plain")
    assert unnamed.status_code == 400
    assert unnamed.json()["error"].endswith("endpoint 'plain' has none by name; give its number")
    assert feedback.given == [], "nothing is counted of a request that is refused"


async def test_an_endpoint_that_is_not_there_is_404(client: httpx2.AsyncClient) -> None:
    response = await tell(client, {"id": "x", "label": 1}, "digit")
    assert (response.status_code, response.json()["reason"]) == (404, "UnknownEndpoint")


async def test_what_the_labels_refuse_is_400(client: httpx2.AsyncClient, feedback: PlayedFeedback) -> None:
    feedback.error = BadRequest("feedback for id 'x': 1 labels for 2 rows; give one label per row")
    response = await tell(client, {"id": "x", "label": 1})
    assert (response.status_code, response.json()["reason"]) == (400, "BadRequest")
    assert "1 labels for 2 rows" in response.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"id": "x"},
        {"label": 1},
        {"id": 7, "label": 1},
        {"id": "x", "label": None},
        {"id": "x", "label": True},
        {"id": "x", "label": 1.0},
        {"id": "x", "label": {"class": 1}},
        {"id": "x", "label": [[1]]},
        {"id": "x", "label": 1, "weight": 2},
        {"feedback": []},
        {"feedback": [{"id": "x"}]},
        {"feedback": {"id": "x", "label": 1}},
    ],
)
async def test_a_body_of_another_form_is_refused(
    client: httpx2.AsyncClient, feedback: PlayedFeedback, body: Any
) -> None:
    response = await tell(client, body)
    assert (response.status_code, response.json()["reason"]) == (400, "BadRequest")
    assert feedback.given == []


async def test_one_request_has_so_many_labels_at_most(client: httpx2.AsyncClient, feedback: PlayedFeedback) -> None:
    many = [{"id": str(number), "label": 1} for number in range(feedback_api.MOST_LABELS + 1)]
    assert (await tell(client, {"feedback": many})).status_code == 400
    assert (await tell(client, {"feedback": many[1:]})).json()["matched"] == feedback_api.MOST_LABELS
