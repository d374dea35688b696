"""The health protocol of gRPC (grpc.health.v1), by which Kubernetes, Envoy and load balancers ask."""

import asyncio
from collections.abc import AsyncIterator

from grpc_health.v1 import health_pb2 as pb
from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import UnknownEndpoint
from deployments.router.router import Router
from serve_app.grpc.access import Access
from serve_app.grpc.status import tell
from serve_app.http.security.roles import OPEN
from serve_app.oip.repository import Repository

WHOLE = frozenset({"", "inference.GRPCInferenceService"})
"""Services whose health is that of every endpoint together, as of ``ServerReady``."""

LOOK_S = 1.0
"""A watcher is told of a change within this time."""

SERVING = pb.HealthCheckResponse.SERVING
NOT_SERVING = pb.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN = pb.HealthCheckResponse.SERVICE_UNKNOWN


class Health:
    """Lives on the router's event loop; a service is an endpoint or a variant by name, or one of ``WHOLE``."""

    def __init__(self, router: Router, repository: Repository, access: Access) -> None:
        self._router = router
        self._repository = repository
        self._access = access

    async def check(self, request: pb.HealthCheckRequest, context: RayServegRPCContext) -> pb.HealthCheckResponse:
        """Whether a service can answer; one that is not known ends the call with ``NOT_FOUND``."""
        try:
            self._access.admit(context, OPEN)
            return pb.HealthCheckResponse(status=self._status(request.service))
        except Exception as error:
            tell(context, error)
            return pb.HealthCheckResponse()

    async def watch(
        self, request: pb.HealthCheckRequest, context: RayServegRPCContext
    ) -> AsyncIterator[pb.HealthCheckResponse]:
        """The same at once and after every change, until the caller goes; what is not known yet may come."""
        try:
            self._access.admit(context, OPEN)
        except Exception as error:
            tell(context, error)
            return
        told: int | None = None
        while True:
            try:
                status = self._status(request.service)
            except UnknownEndpoint:
                status = SERVICE_UNKNOWN
            if status != told:
                told = status
                yield pb.HealthCheckResponse(status=status)
            await asyncio.sleep(LOOK_S)

    def _status(self, service: str) -> int:
        if service in WHOLE:
            ready = all(map(self._router.ready, self._router.plan.endpoints))
        else:
            ready = self._repository.ready(service)
        return int(SERVING if ready else NOT_SERVING)
