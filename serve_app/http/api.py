"""Everything of the HTTP interface but inference itself: health, metadata, status and the OpenAPI page."""

import asyncio
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from catalog.errors import AccordError, NoWorker, TooLarge
from deployments.controller.client import ControllerClient
from deployments.router.feedback.feedback import Feedback
from deployments.router.router import Router
from dispatch.refusals import unknown_endpoint
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.errors import error_body, error_headers
from serve_app.http.feedback_api import add_feedback_route
from serve_app.http.plan_api import add_plan_routes
from serve_app.http.variant_marks import emulated_variants, mark_origins, mark_status
from serve_app.oip.repository import Repository
from serve_app.oip.routes import EXTENSIONS, VERSIONED, add_extension_routes, of_version
from serve_app.version import VERSION


class Tensor(BaseModel):
    """A tensor of a request or an answer; ``data`` is flat in row-major order, or nested.

    Instead, ``parameters.binary_data_size`` says how many bytes it has behind the JSON.
    """

    name: str
    shape: list[int]
    datatype: str = Field(examples=["FP32"])
    parameters: dict[str, Any] | None = None
    data: list[Any] | None = None


class RequestedOutput(BaseModel):
    """An output that the client wants, behind the JSON with ``parameters.binary_data``."""

    name: str
    parameters: dict[str, Any] | None = None


class Inference(BaseModel):
    """``parameters`` may hold ``slo_ms`` or ``timeout`` (microseconds), the query's own latency objective, and
    ``accuracy`` (0 to 1), what it asks of an ensemble at least."""

    id: str | None = None
    parameters: dict[str, Any] | None = Field(default=None, examples=[{"slo_ms": 80}])
    inputs: list[Tensor]
    outputs: list[RequestedOutput] | None = None


class InferenceAnswer(BaseModel):
    """``parameters`` names the variant that answered, its accuracy, the latency and whether the deadline was met."""

    model_name: str
    model_version: str
    id: str
    parameters: dict[str, Any]
    outputs: list[Tensor]


class Error(BaseModel):
    """What every failed call gets."""

    error: str
    reason: str
    retryable: bool


async def _condition(controller: ControllerClient) -> dict[str, Any]:
    """How the controller is; why it does not say so where it does not: inference goes on without it."""
    try:
        return await controller.condition()
    except AccordError as error:
        return {"answers": False, "why_not": str(error)}


def build_api(
    router: Router, endpoints: dict[str, EndpointInfo], controller: ControllerClient, feedback: Feedback
) -> FastAPI:
    """The FastAPI application around a router."""
    api = FastAPIOffline(  # the OpenAPI page works without the internet
        title="Accord",
        version=VERSION,
        description="Serves interchangeable model variants under latency objectives. Open Inference Protocol v2.",
        responses={"4XX": {"model": Error}, "5XX": {"model": Error}},
    )

    def known(name: str) -> EndpointInfo:
        if name not in endpoints:
            raise unknown_endpoint(name, endpoints)
        return endpoints[name]

    repository = Repository(router, endpoints, controller)
    add_extension_routes(api, router, known, repository)  # before endpoints: `stats` is no name of one

    @api.exception_handler(AccordError)
    async def on_accord_error(_: Request, error: AccordError) -> Response:
        headers = {name.decode(): value.decode() for name, value in error_headers(error)}
        return Response(error_body(error), error.status, headers, media_type="application/json")

    @api.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: HTTPException) -> Response:
        message = f"{request.method} {request.url.path}: {error.detail}; see /docs for what is served"
        reason = TooLarge.__name__ if error.status_code == TooLarge.status else "Http"
        body = {"error": message, "reason": reason, "retryable": False}
        return JSONResponse(body, error.status_code, headers=error.headers)

    @api.head("/v2/health/live", include_in_schema=False)  # monitors of the web ask so
    @api.get("/v2/health/live", tags=["health"])
    async def live() -> dict[str, bool]:
        """The router runs."""
        return {"live": True}

    @api.head("/v2/health/ready", include_in_schema=False)
    @api.get("/v2/health/ready", tags=["health"])
    async def ready() -> JSONResponse:
        """Every endpoint has a worker that holds a variant for it; 503 while one has none."""
        waiting = [name for name in endpoints if not router.ready(name)]
        body: dict[str, Any] = {"ready": not waiting, "live": True}
        if waiting:
            # Whoever asks needs no key: the names of endpoints are for those who have one.
            text = f"no worker holds a variant yet for {len(waiting)} of {len(endpoints)} endpoint(s)"
            body |= {"error": text, "reason": NoWorker.__name__, "retryable": True}
        return JSONResponse(body, 503 if waiting else 200)

    @api.get("/v2", tags=["metadata"])
    @api.get("/v2/", include_in_schema=False)
    async def server() -> dict[str, Any]:
        """Name, version and protocol extensions."""
        return {"name": "accord", "version": VERSION, "extensions": list(EXTENSIONS)}

    @api.get("/v2/models/{endpoint}", tags=["metadata"])
    @api.get(of_version(""), tags=["metadata"], dependencies=VERSIONED)
    async def metadata(endpoint: str) -> dict[str, Any]:
        """Tensors, objective and variants of an endpoint."""
        info, plan = known(endpoint), router.plan.endpoints[endpoint]
        offered = dict.fromkeys(c.variant for candidates in plan.candidates.values() for c in candidates)
        return info.metadata(plan.slo_s, tuple(offered), emulated_variants(router, info))

    @api.head("/v2/models/{endpoint}/ready", include_in_schema=False)
    @api.get("/v2/models/{endpoint}/ready", tags=["health"])
    @api.get(of_version("/ready"), tags=["health"], dependencies=VERSIONED)
    async def endpoint_ready(endpoint: str) -> JSONResponse:
        """Whether the endpoint can answer, or a worker holds the variant of that name; 503 while not."""
        is_ready = repository.ready(endpoint)
        return JSONResponse({"name": endpoint, "ready": is_ready}, 200 if is_ready else 503)

    @api.post("/v2/models/{endpoint}/infer", tags=["inference"], response_model=InferenceAnswer)
    @api.post(of_version("/infer"), tags=["inference"], response_model=InferenceAnswer, dependencies=VERSIONED)
    async def infer(endpoint: str, body: Inference) -> None:
        """Answer a query within its objective, by the variant that Accord picks."""
        raise AssertionError("the edge serves this path; the route is here for the OpenAPI page")

    @api.get("/accord/status", tags=["operation"])
    async def status() -> dict[str, Any]:
        """Counts, latencies and share per variant of every endpoint, and what every worker holds, over all routers."""
        emulated = emulated_variants(router, *endpoints.values())
        known, condition = await asyncio.gather(router.status_of_all(), _condition(controller))
        marked = mark_origins(mark_status(known, emulated), router)
        return {"version": VERSION, **marked, "controller": condition}

    add_plan_routes(api, controller)
    add_feedback_route(api, known, feedback)
    return api
