"""The HTTP interface of the control path: the plan in force, those before it, plans for other loads, new variants."""

import reprlib
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from catalog.errors import BadRequest
from catalog.variant import Variant
from deployments.controller.client import ControllerClient
from serve_app.http.errors import error_body
from serve_app.http.feedback_api import ONE, SEVERAL
from serve_app.http.json_route import JsonRoute

Qps = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_VARIANT = TypeAdapter(Variant)

MOST_FAULTS, LONGEST_WORDS = 10, 300
"""Of a body that does not fit, and characters of each: an answer is short, however long what it answers."""


class Loads(BaseModel):
    """Queries per second by endpoint; endpoints that are not named keep what is asked of them now."""

    model_config = ConfigDict(extra="forbid")
    load_qps: dict[str, Qps] = Field(examples=[{"digits": 200.0}])


def add_plan_routes(api: FastAPI, controller: ControllerClient) -> None:
    """Add the paths to an application that answers an `AccordError` already; bodies that do not fit get 400."""
    routes = APIRouter(route_class=JsonRoute)

    @api.exception_handler(RequestValidationError)
    async def on_wrong_body(_: Request, error: RequestValidationError) -> Response:
        faults = error.errors()
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        refusal = BadRequest("; ".join(_describe(fault) for fault in faults[:MOST_FAULTS]) + more)
        return Response(error_body(refusal), refusal.status, media_type="application/json")

    @api.get("/accord/plan", tags=["operation"])
    async def plan() -> dict[str, Any]:
        """The plan in force, why and how it came about, and what it rests on."""
        return await controller.plan()

    @api.get("/accord/plans", tags=["operation"])
    async def plans() -> dict[str, Any]:
        """Every decision that is remembered, newest last."""
        return {"plans": await controller.plans()}

    @routes.post("/accord/plan/simulate", tags=["operation"])
    async def simulate(body: Loads) -> dict[str, Any]:
        """The plan that such loads would get, beside the one in force; nothing changes.

        A planner that plans for no load leaves `served_qps` and `capacity_qps` empty.
        """
        return await controller.simulate(body.load_qps)

    @api.post("/accord/variants", status_code=201, tags=["operation"])
    async def register(body: Variant) -> dict[str, Any]:
        """Take one variant, written as in a catalogue file: measure it on every pool, and plan with it from then on.

        Its content type is to be JSON: no page of another site may post that without asking.
        """
        return await controller.register(_VARIANT.dump_python(body, mode="json"))

    @api.delete("/accord/variants/{name}", tags=["operation"])
    async def unregister(name: str) -> dict[str, Any]:
        """Take a variant that was registered out of service; queries go on with the others."""
        return await controller.unregister(name)

    api.include_router(routes)


def _describe(fault: dict[str, Any]) -> str:
    """Where a body is wrong, and why; a field that is missing has no value to quote."""
    if isinstance(fault["input"], bytes):
        return "body: not taken for JSON; send it with the header Content-Type: application/json"
    given = "" if fault["type"] in ("missing", "json_invalid") else f" (given: {reprlib.repr(fault['input'])})"
    path = [str(part)[:LONGEST_WORDS] for part in fault["loc"][:MOST_FAULTS]]
    where = ".".join(part for part in path if part not in (ONE, SEVERAL))
    return f"{where}: {fault['msg'][:LONGEST_WORDS]}{given}"
