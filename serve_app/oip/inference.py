"""One decoded request through the router, whatever protocol carried it."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from deployments.router.feedback.labels import Labels
from deployments.router.router import Router
from dispatch.commands import Answer
from dispatch.query import quick
from dispatch.refusals import unknown_endpoint
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.intake import REQUEST_ID, Head
from serve_app.http.variant_marks import answer_marks
from serve_app.oip.request import LONGEST_ID, InferRequest


class Inferred(NamedTuple):
    """An answer, the id that it goes out with, and what it says of who gave it."""

    answer: Answer
    request_id: str
    marks: Mapping[str, Any]


class Inference:
    """Lives on the router's event loop.

    ``name`` makes request ids unique beside other routers; ``clock`` says when an answer goes out.
    """

    def __init__(
        self,
        name: str,
        router: Router,
        endpoints: Mapping[str, EndpointInfo],
        labels: Labels,
        clock: Callable[[], float],
    ) -> None:
        self._name = name
        self._router = router
        self._endpoints = endpoints
        self._labels = labels
        self._clock = clock
        self._ids = count(1)

    def endpoint(self, name: str) -> EndpointInfo:
        """What is known of an endpoint; raises `UnknownEndpoint`."""
        info = self._endpoints.get(name)
        if info is None:
            raise unknown_endpoint(name, self._endpoints)
        return info

    async def infer(self, info: EndpointInfo, request: InferRequest, head: Head) -> Inferred:
        """The answer to a decoded request; raises `AccordError`."""
        slo_s = request.slo_s if head.slo_s is None else min(head.slo_s, request.slo_s or head.slo_s)
        answer = await self._router.infer(
            info.name,
            request.inputs,
            request.rows,
            slo_s,
            request.accuracy,
            arrival_s=head.arrival_s,
            priority=request.priority,
        )
        marks = answer_marks(self._router, info, answer)
        request_id = request.id if request.id is not None else self._id_of(head)
        self._labels.remember(info.name, request_id, answer, self._clock())
        return quick(Inferred, (answer, request_id, marks))

    def _id_of(self, head: Head) -> str:
        """The id of the HTTP request, and where that has none one of this router.

        Not the query's own number: an answer from another router has that router's.
        """
        given = head.kept.get(REQUEST_ID, b"")
        return given.decode("latin-1") if 0 < len(given) <= LONGEST_ID else f"{self._name}-{next(self._ids)}"
