"""How Serve's gRPC servers learn of ``grpc.health.v1.Health``: with ``Check``, and without ``Watch``.

Serve counts a stream as a request under way, so that one watcher would hold up the stop of a router until its time is
over. Clients take a service without ``Watch`` as healthy while its connection lasts.
"""

from typing import Any

import grpc
from grpc_health.v1 import health_pb2 as pb


def add_health_to_server(servicer: Any, server: Any) -> None:
    """For ``grpc_options.grpc_servicer_functions``."""
    check = grpc.unary_unary_rpc_method_handler(
        servicer.Check,
        request_deserializer=pb.HealthCheckRequest.FromString,
        response_serializer=pb.HealthCheckResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check}),))
