"""What whoever probes the service over gRPC is told."""

from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from ray.serve.grpc_util import RayServegRPCContext

from deployments.controller.client import ControllerClient
from deployments.router.router import Router
from serve_app.grpc.access import Access
from serve_app.grpc.health import Health
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.repository import Repository

SERVING = HealthCheckResponse.SERVING
NOT_SERVING = HealthCheckResponse.NOT_SERVING


class PlayedRouter:
    """Two endpoints, each ready or not, without a variant to name."""

    routing: Any = None

    def __init__(self) -> None:
        self.is_ready = {"digits": True, "text": True}

    @property
    def plan(self) -> Any:
        return SimpleNamespace(endpoints={name: SimpleNamespace(candidates={}) for name in self.is_ready})

    def ready(self, endpoint: str) -> bool:
        return self.is_ready[endpoint]


class Call:
    """A call from somewhere, and what it ended with."""

    def __init__(self, peer: str = "ipv4:127.0.0.1:4711") -> None:
        self._peer = peer
        self.code: grpc.StatusCode | None = None

    def peer(self) -> str:
        return self._peer

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return []

    def trailing_metadata(self) -> list[tuple[str, str]]:
        return []

    def set_trailing_metadata(self, _: Any) -> None: ...

    def set_details(self, _: str) -> None: ...

    def set_code(self, code: grpc.StatusCode) -> None:
        self.code = code


@pytest.fixture
def router() -> PlayedRouter:
    return PlayedRouter()


@pytest.fixture
def health(router: PlayedRouter) -> Health:
    endpoints = {name: EndpointInfo(name, {"": "toy"}, (), (), (), 8) for name in router.is_ready}
    repository = Repository(cast(Router, router), endpoints, cast(ControllerClient, None))
    return Health(cast(Router, router), repository, Access(None, everywhere=False))


async def checked(health: Health, service: str, call: Call) -> int:
    answer = await health.check(HealthCheckRequest(service=service), cast(RayServegRPCContext, call))
    return int(answer.status)


async def test_the_whole_service_is_ready_when_every_endpoint_is(health: Health, router: PlayedRouter) -> None:
    for service in ("", "inference.GRPCInferenceService", "digits", "text"):
        assert await checked(health, service, Call()) == SERVING
    router.is_ready["text"] = False
    for service, status in (("", NOT_SERVING), ("digits", SERVING), ("text", NOT_SERVING)):
        assert await checked(health, service, Call()) == status


async def test_what_is_not_known_is_not_found(health: Health) -> None:
    call = Call()
    await checked(health, "digit", call)
    assert call.code is grpc.StatusCode.NOT_FOUND


async def test_another_machine_is_refused_where_nobody_says_who_they_are(health: Health) -> None:
    call = Call("ipv4:192.0.2.7:5")
    await checked(health, "", call)
    assert call.code is grpc.StatusCode.PERMISSION_DENIED
