"""The paths of the extensions: configuration, statistics, and the model repository."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Path, Request
from pydantic import BaseModel, Field, ValidationError

from catalog.errors import BadRequest, UnknownVersion
from catalog.faults import describe
from deployments.router.router import Router
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.answer import VERSION
from serve_app.oip.model_config import model_config
from serve_app.oip.repository import Repository
from serve_app.oip.statistics import statistics

EXTENSIONS = (
    "binary_tensor_data",
    "schedule_policy",
    "statistics",
    "model_configuration",
    "model_repository",
    "model_repository(unload_dependents)",
)
"""By Triton's names."""

Body = TypeVar("Body", bound=BaseModel)


class IndexQuestion(BaseModel):
    """``ready`` asks for what can answer alone."""

    ready: bool = False


class LoadParameters(BaseModel):
    """``parameters.config`` describes a variant as a catalogue file does, in JSON."""

    parameters: dict[str, Any] = Field(default_factory=dict)


def right_version(version: Annotated[str, Path()]) -> None:
    """For paths with a version in them."""
    check_version(version)


def check_version(version: str) -> None:
    """Raise `UnknownVersion` where a client names another version than there is; it may name none."""
    if version not in ("", VERSION):
        raise UnknownVersion(f"there is no version {version[:100]!r}; every endpoint has version {VERSION} alone")


def of_version(path: str) -> str:
    """A path below an endpoint's, with the version in it; `right_version` goes with it."""
    return f"/v2/models/{{endpoint}}/versions/{{version}}{path}"


VERSIONED = [Depends(right_version)]


def add_extension_routes(
    api: FastAPI, router: Router, known: Callable[[str], EndpointInfo], repository: Repository
) -> None:
    """Add the paths; ``known`` gives an endpoint by name, or raises."""

    @api.get("/v2/models/{endpoint}/config", tags=["metadata"])
    @api.get(of_version("/config"), tags=["metadata"], dependencies=VERSIONED)
    async def config(endpoint: str) -> dict[str, Any]:
        """An endpoint in the words of Triton's model configuration."""
        return model_config(known(endpoint), router.plan.endpoints[endpoint].slo_s)

    @api.get("/v2/models/stats", tags=["operation"])
    async def all_statistics() -> dict[str, Any]:
        """Counts and durations of every endpoint since the routers began."""
        return statistics((await router.status_of_all())["endpoints"])

    @api.get("/v2/models/{endpoint}/stats", tags=["operation"])
    @api.get(of_version("/stats"), tags=["operation"], dependencies=VERSIONED)
    async def endpoint_statistics(endpoint: str) -> dict[str, Any]:
        """Counts and durations of an endpoint since the routers began."""
        known(endpoint)
        return statistics({endpoint: (await router.status_of_all())["endpoints"][endpoint]})

    @api.post("/v2/repository/index", tags=["metadata"], openapi_extra=_takes(IndexQuestion))
    async def index(request: Request) -> list[dict[str, Any]]:
        """Endpoints and variants with their state."""
        return repository.index((await _body(request, IndexQuestion)).ready)

    @api.post("/v2/repository/models/{name}/load", tags=["operation"], openapi_extra=_takes(LoadParameters))
    async def load(name: str, request: Request) -> dict[str, Any]:
        """Register the variant that `parameters.config` describes, or take back one that was unloaded."""
        return await repository.load(name, (await _body(request, LoadParameters)).parameters)

    @api.post("/v2/repository/models/{name}/unload", tags=["operation"], openapi_extra=_takes(LoadParameters))
    async def unload(name: str, request: Request) -> dict[str, Any]:
        """Take a variant that was registered out of service; queries go on with the others."""
        await _body(request, LoadParameters)
        return await repository.unload(name)


async def _body(request: Request, kind: type[Body]) -> Body:
    """A JSON body, whatever content type it has or lacks: clients of Triton send none. An empty one asks nothing."""
    content = await request.body()
    try:
        return kind.model_validate_json(content) if content else kind()
    except ValidationError as error:
        raise BadRequest(describe(error, kind)) from error


def _takes(kind: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": kind.model_json_schema()}}}}
