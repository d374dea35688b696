"""Where Serve's gRPC servers listen."""

import os
from typing import Any

HOST = "ACCORD_GRPC_HOST"
"""Environment variable with the host for gRPC; without it Serve's servers are on every interface."""


def listen_by_environment() -> None:
    """Have the gRPC servers that this process starts from now on listen on `HOST`, where that is set.

    Serve 2.60 has no setting for it: a replica's server and a proxy's are started on all addresses, through the one
    function that is replaced here.
    """
    host = os.environ.get(HOST)
    if not host:
        return
    from ray.serve._private import default_impl

    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host

    def add_address(server: Any, address: str) -> None:
        server.add_insecure_port(f"{shown}:{address.rpartition(':')[2]}")

    default_impl.add_grpc_address = add_address
