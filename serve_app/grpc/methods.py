"""The names by which Serve's gRPC ingress calls a deployment: those of the protocol."""

from grpc_health.v1 import health_pb2
from ray.serve.grpc_util import RayServegRPCContext

from serve_app.grpc.health import Health
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.service import InferenceService


class GrpcMethods:
    """For the class of an ingress deployment, which sets ``grpc`` and ``health`` before it is ready."""

    grpc: InferenceService
    health: Health

    async def Check(
        self, request: health_pb2.HealthCheckRequest, grpc_context: RayServegRPCContext
    ) -> health_pb2.HealthCheckResponse:
        """See `Health.check`."""
        return await self.health.check(request, grpc_context)

    async def ServerLive(self, _: pb.ServerLiveRequest, grpc_context: RayServegRPCContext) -> pb.ServerLiveResponse:
        """See `InferenceService.server_live`."""
        return await self.grpc.server_live(grpc_context)

    async def ServerReady(self, _: pb.ServerReadyRequest, grpc_context: RayServegRPCContext) -> pb.ServerReadyResponse:
        """See `InferenceService.server_ready`."""
        return await self.grpc.server_ready(grpc_context)

    async def ModelReady(
        self, request: pb.ModelReadyRequest, grpc_context: RayServegRPCContext
    ) -> pb.ModelReadyResponse:
        """See `InferenceService.model_ready`."""
        return await self.grpc.model_ready(request, grpc_context)

    async def ServerMetadata(
        self, _: pb.ServerMetadataRequest, grpc_context: RayServegRPCContext
    ) -> pb.ServerMetadataResponse:
        """See `InferenceService.server_metadata`."""
        return await self.grpc.server_metadata(grpc_context)

    async def ModelMetadata(
        self, request: pb.ModelMetadataRequest, grpc_context: RayServegRPCContext
    ) -> pb.ModelMetadataResponse:
        """See `InferenceService.model_metadata`."""
        return await self.grpc.model_metadata(request, grpc_context)

    async def ModelInfer(
        self, request: pb.ModelInferRequest, grpc_context: RayServegRPCContext
    ) -> pb.ModelInferResponse:
        """See `InferenceService.model_infer`."""
        return await self.grpc.model_infer(request, grpc_context)

    async def ModelConfig(
        self, request: pb.ModelConfigRequest, grpc_context: RayServegRPCContext
    ) -> pb.ModelConfigResponse:
        """See `InferenceService.model_config`."""
        return await self.grpc.model_config(request, grpc_context)

    async def ModelStatistics(
        self, request: pb.ModelStatisticsRequest, grpc_context: RayServegRPCContext
    ) -> pb.ModelStatisticsResponse:
        """See `InferenceService.model_statistics`."""
        return await self.grpc.model_statistics(request, grpc_context)

    async def RepositoryIndex(
        self, request: pb.RepositoryIndexRequest, grpc_context: RayServegRPCContext
    ) -> pb.RepositoryIndexResponse:
        """See `InferenceService.repository_index`."""
        return await self.grpc.repository_index(request, grpc_context)

    async def RepositoryModelLoad(
        self, request: pb.RepositoryModelLoadRequest, grpc_context: RayServegRPCContext
    ) -> pb.RepositoryModelLoadResponse:
        """See `InferenceService.load`."""
        return await self.grpc.load(request, grpc_context)

    async def RepositoryModelUnload(
        self, request: pb.RepositoryModelUnloadRequest, grpc_context: RayServegRPCContext
    ) -> pb.RepositoryModelUnloadResponse:
        """See `InferenceService.unload`."""
        return await self.grpc.unload(request, grpc_context)
