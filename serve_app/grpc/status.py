"""Errors as gRPC has them."""

import logging

import grpc
from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import AccordError
from serve_app.http.errors import error_headers

logger = logging.getLogger("ray.serve")

CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    422: grpc.StatusCode.FAILED_PRECONDITION,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
"""By the status that the same error has over HTTP."""

REASON = "x-accord-error"
"""Metadata at the end of a call that failed: the kind of the error, as ``reason`` in JSON."""


def tell(context: RayServegRPCContext, error: Exception) -> None:
    """End a call with an error, and with what HTTP has in headers as metadata.

    Nothing is raised: Serve would write a traceback into the log for each query that is refused.
    """
    if not isinstance(error, AccordError):
        logger.error("A call over gRPC failed in the router.", exc_info=error)
        context.set_code(grpc.StatusCode.INTERNAL)
        context.set_details("internal error in the router; see its log")
        return
    context.set_code(CODES.get(error.status, grpc.StatusCode.UNKNOWN))
    context.set_details(str(error))
    told = [(name.decode(), value.decode()) for name, value in error_headers(error)]
    context.set_trailing_metadata([*context.trailing_metadata(), (REASON, type(error).__name__), *told])
