"""Which answers are marked as emulated: those of variants that run no model."""

from collections.abc import Mapping, Set
from typing import Any

from deployments.router.router import Router
from serve_app.http.endpoint_info import EndpointInfo


def emulated_variants(router: Router, *endpoints: EndpointInfo) -> frozenset[str]:
    """Names of emulated variants: those that ``endpoints`` began with, and by the controller's word those of today."""
    if router.routing is not None:
        return router.routing.emulated
    return frozenset().union(*(endpoint.emulated for endpoint in endpoints))


def _names(variant: str) -> list[str]:
    """Those of an answer's variants; a pipeline's are ``stage:variant``, several of one stage joined by commas."""
    return [name.rpartition(":")[2] for member in variant.split("+") for name in member.split(",")]


def mark_status(status: Mapping[str, Any], emulated: Set[str]) -> dict[str, Any]:
    """An answer of ``GET /accord/status`` that says of variants and workers what of them is emulated."""
    endpoints = {
        name: endpoint
        | {
            "variants": {
                v: entry | {"emulated": not emulated.isdisjoint(_names(v))} for v, entry in endpoint["variants"].items()
            }
        }
        for name, endpoint in status["endpoints"].items()
    }
    workers = {
        name: worker | {"emulated": [variant for variant in worker["loaded"] if variant in emulated]}
        for name, worker in status["workers"].items()
    }
    return {**status, "endpoints": endpoints, "workers": workers}
