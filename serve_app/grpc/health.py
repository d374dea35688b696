"""The health protocol of gRPC (grpc.health.v1), by which Kubernetes, Envoy and load balancers ask."""

from grpc_health.v1 import health_pb2 as pb
from ray.serve.grpc_util import RayServegRPCContext

from deployments.router.router import Router
from serve_app.grpc.access import Access
from serve_app.grpc.status import tell
from serve_app.http.security.roles import OPEN
from serve_app.oip.repository import Repository

WHOLE = frozenset({"", "inference.GRPCInferenceService"})
"""Services whose health is that of every endpoint together, as of ``ServerReady``."""


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
            serving = self._serving(request.service)
        except Exception as error:
            tell(context, error)
            return pb.HealthCheckResponse()
        return pb.HealthCheckResponse(
            status=pb.HealthCheckResponse.SERVING if serving else pb.HealthCheckResponse.NOT_SERVING
        )

    def _serving(self, service: str) -> bool:
        if service in WHOLE:
            return all(map(self._router.ready, self._router.plan.endpoints))
        return self._repository.ready(service)
