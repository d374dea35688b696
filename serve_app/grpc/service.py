"""What each call over gRPC does."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf.json_format import ParseDict
from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import TooLarge
from deployments.router.router import Router
from serve_app.grpc.access import Access
from serve_app.grpc.call_deadline import out_of_time, remaining_s, within_call
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.requests import decode, values
from serve_app.grpc.responses import encode
from serve_app.grpc.status import tell
from serve_app.http.intake import TRACE_PARENT, Intake, begun
from serve_app.http.security.caller import Role
from serve_app.http.security.gate import INFER
from serve_app.http.security.roles import CHANGING, METADATA, OBSERVING, OPEN
from serve_app.oip.inference import Inference
from serve_app.oip.model_config import model_config
from serve_app.oip.repository import Repository
from serve_app.oip.routes import EXTENSIONS, check_version
from serve_app.oip.statistics import statistics
from serve_app.version import VERSION

M = TypeVar("M")


class InferenceService:
    """Lives on the router's event loop, beside the HTTP edge: both have the same ``inference`` and ``intake``.

    Every method answers one call; one that fails ends with a status in ``context``, and its answer is empty.
    """

    def __init__(
        self, inference: Inference, router: Router, repository: Repository, intake: Intake, access: Access
    ) -> None:
        self._inference = inference
        self._router = router
        self._repository = repository
        self._intake = intake
        self._access = access

    async def model_infer(self, request: pb.ModelInferRequest, context: RayServegRPCContext) -> pb.ModelInferResponse:
        """Answer a query within its objective, and within the time that its call has left."""
        begun_s, left_s = time.monotonic(), remaining_s(context)
        try:
            scope = self._access.admit(context, INFER)
            check_version(request.model_version)
            info = self._inference.endpoint(request.model_name)
            head = begun(self._intake, self._router, info.name, scope)
            self._intake.shedding.record_beside(info.name)
            try:
                if (size_bytes := request.ByteSize()) > self._intake.max_body_bytes:
                    raise TooLarge(
                        f"the request has {size_bytes} bytes and may have {self._intake.max_body_bytes}; split the "
                        "batch or raise max_body_bytes"
                    )
                decoded = decode(request, info)
                objective_s = self._router.plan.endpoints[info.name].slo_s
                within = within_call(head, decoded.slo_s, objective_s, left_s)
                inferred = await self._inference.infer(info, decoded, within)
            finally:
                self._intake.end()
            if TRACE_PARENT in head.kept:
                kept = (TRACE_PARENT.decode(), head.kept[TRACE_PARENT].decode("latin-1"))
                context.set_trailing_metadata([*context.trailing_metadata(), kept])
            return encode(decoded, inferred, info, raw=bool(request.raw_input_contents))
        except Exception as error:
            tell(context, out_of_time(error, left_s, time.monotonic() - begun_s))
            return pb.ModelInferResponse()

    async def server_live(self, context: RayServegRPCContext) -> pb.ServerLiveResponse:
        """The router runs."""
        return self._answer(context, OPEN, pb.ServerLiveResponse, lambda: {"live": True})

    async def server_ready(self, context: RayServegRPCContext) -> pb.ServerReadyResponse:
        """Every endpoint has a worker that holds a variant for it."""
        every = self._router.plan.endpoints
        return self._answer(
            context, OPEN, pb.ServerReadyResponse, lambda: {"ready": all(map(self._router.ready, every))}
        )

    async def model_ready(self, request: pb.ModelReadyRequest, context: RayServegRPCContext) -> pb.ModelReadyResponse:
        """An endpoint can answer, or a worker holds the variant."""

        def ready() -> dict[str, Any]:
            check_version(request.version)
            return {"ready": self._repository.ready(request.name)}

        return self._answer(context, OPEN, pb.ModelReadyResponse, ready)

    async def server_metadata(self, context: RayServegRPCContext) -> pb.ServerMetadataResponse:
        """Name, version and protocol extensions."""
        content = {"name": "accord", "version": VERSION, "extensions": list(EXTENSIONS)}
        return self._answer(context, METADATA, pb.ServerMetadataResponse, lambda: content)

    async def model_metadata(
        self, request: pb.ModelMetadataRequest, context: RayServegRPCContext
    ) -> pb.ModelMetadataResponse:
        """Tensors of an endpoint."""

        def metadata() -> dict[str, Any]:
            check_version(request.version)
            found = self._inference.endpoint(request.name).metadata(0.0, (), ())
            return {key: found[key] for key in ("name", "versions", "platform", "inputs", "outputs")}

        return self._answer(context, METADATA, pb.ModelMetadataResponse, metadata)

    async def model_config(
        self, request: pb.ModelConfigRequest, context: RayServegRPCContext
    ) -> pb.ModelConfigResponse:
        """An endpoint in the words of Triton's model configuration."""

        def config() -> dict[str, Any]:
            check_version(request.version)
            info = self._inference.endpoint(request.name)
            return {"config": model_config(info, self._router.plan.endpoints[info.name].slo_s)}

        return self._answer(context, METADATA, pb.ModelConfigResponse, config)

    async def model_statistics(
        self, request: pb.ModelStatisticsRequest, context: RayServegRPCContext
    ) -> pb.ModelStatisticsResponse:
        """Counts and durations of an endpoint, or of all."""
        try:
            self._access.admit(context, OBSERVING)
            check_version(request.version)
            wanted = (
                [self._inference.endpoint(request.name).name] if request.name else list(self._router.plan.endpoints)
            )
            known = (await self._router.status_of_all())["endpoints"]
            return _message(pb.ModelStatisticsResponse, statistics({name: known[name] for name in wanted}))
        except Exception as error:
            tell(context, error)
            return pb.ModelStatisticsResponse()

    async def repository_index(
        self, request: pb.RepositoryIndexRequest, context: RayServegRPCContext
    ) -> pb.RepositoryIndexResponse:
        """Endpoints and variants with their state."""
        return self._answer(
            context, METADATA, pb.RepositoryIndexResponse, lambda: {"models": self._repository.index(request.ready)}
        )

    async def load(
        self, request: pb.RepositoryModelLoadRequest, context: RayServegRPCContext
    ) -> pb.RepositoryModelLoadResponse:
        """Register a variant, or take one back."""
        try:
            self._access.admit(context, CHANGING)
            await self._repository.load(request.model_name or request.repository_name, values(request.parameters))
        except Exception as error:
            tell(context, error)
        return pb.RepositoryModelLoadResponse()

    async def unload(
        self, request: pb.RepositoryModelUnloadRequest, context: RayServegRPCContext
    ) -> pb.RepositoryModelUnloadResponse:
        """Take a variant that was registered out of service."""
        try:
            self._access.admit(context, CHANGING)
            await self._repository.unload(request.model_name or request.repository_name)
        except Exception as error:
            tell(context, error)
        return pb.RepositoryModelUnloadResponse()

    def _answer(
        self,
        context: RayServegRPCContext,
        needed: frozenset[Role],
        kind: type[M],
        content: Callable[[], dict[str, Any]],
    ) -> M:
        """A message of the content, for a caller with one of the roles."""
        try:
            self._access.admit(context, needed)
            return _message(kind, content())
        except Exception as error:
            tell(context, error)
            return kind()


def _message(kind: type[M], content: dict[str, Any]) -> M:
    made = kind()
    ParseDict(content, made)
    return made
