"""``POST /v2/models/{endpoint}/feedback``: clients say what was true."""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictInt, StrictStr, Tag

from catalog.errors import BadRequest
from catalog.faults import nearest
from deployments.router.feedback.feedback import Feedback
from deployments.router.feedback.labels import Label
from dispatch.ensemble.ground_truth import Told
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.json_route import JsonRoute

MOST_LABELS = 10_000
"""Of one request."""

MOST_ROWS = 100_000
"""Of one answer."""

Word = Annotated[StrictStr, Field(max_length=1024)]
OneLabel = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | Word


class TrueLabel(BaseModel):
    """What was true of an answer: its id, and its class by number or by name; a list for an answer of several rows."""

    model_config = ConfigDict(extra="forbid")
    id: Word
    label: OneLabel | Annotated[list[OneLabel], Field(max_length=MOST_ROWS)] = Field(examples=["7"])


class TrueLabels(BaseModel):
    """What was true of several answers."""

    model_config = ConfigDict(extra="forbid")
    feedback: list[TrueLabel] = Field(min_length=1, max_length=MOST_LABELS)


ONE, SEVERAL = "one answer", "several answers"
"""The forms of a body. Pydantic has them in the paths of faults, where they name no field."""


def _form(body: Any) -> str:
    return SEVERAL if isinstance(body, TrueLabels) or (isinstance(body, dict) and "feedback" in body) else ONE


Given = Annotated[Annotated[TrueLabel, Tag(ONE)] | Annotated[TrueLabels, Tag(SEVERAL)], Discriminator(_form)]


def add_feedback_route(api: FastAPI, known: Callable[[str], EndpointInfo], feedback: Feedback) -> None:
    """Add the path; ``known`` gives an endpoint by name, or raises."""

    routes = APIRouter(route_class=JsonRoute)

    @routes.post("/v2/models/{endpoint}/feedback", tags=["feedback"])
    async def tell(endpoint: str, body: Given) -> dict[str, Any]:
        """Say which class was the true one. The same again changes nothing; labels count for 10 minutes."""
        info = known(endpoint)
        given = [body] if isinstance(body, TrueLabel) else body.feedback
        told = await feedback.tell(endpoint, [_label(each, info) for each in given])
        counts = Counter(told)
        results = [{"id": each.id, "result": result} for each, result in zip(given, told, strict=True)]
        return {**{kind: counts[kind] for kind in Told}, "results": results}

    api.include_router(routes)


def _label(given: TrueLabel, info: EndpointInfo) -> Label:
    labels = given.label if isinstance(given.label, list) else [given.label]
    return given.id, tuple(_class(each, given.id, info) for each in labels)


def _class(label: int | str, request_id: str, info: EndpointInfo) -> int:
    if isinstance(label, int):
        return label
    if label not in info.labels:
        known = ", ".join(info.labels) or "none by name; give its number"
        raise BadRequest(
            f"feedback for id {request_id!r}: label {label!r} is unknown{nearest(label, info.labels)}; "
            f"endpoint {info.name!r} has {known}"
        )
    return info.labels.index(label)
