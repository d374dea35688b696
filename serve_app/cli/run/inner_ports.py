"""Ports of Serve's proxies beside the one that the config names."""

import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from catalog.errors import ConfigError
from serve_app.cli.run.held_ports import hold

LOOPBACK = "127.0.0.1"

INNER_PORTS: Mapping[str, tuple[int, str]] = {
    "RAY_SERVE_FALLBACK_PROXY_HTTP_PORT": (8500, "Serve's own proxy behind HAProxy"),
    "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT": (9500, "Serve's own gRPC proxy behind HAProxy"),
    "RAY_SERVE_HAPROXY_STATS_PORT": (8404, "HAProxy's page of statistics"),
    "RAY_SERVE_HAPROXY_METRICS_PORT": (9101, "HAProxy's metrics"),
}
"""By the variable that sets it: what Ray takes by default, and for what."""

TRIED = 90
"""Ports above the default, fewer than lie between two of the defaults."""


@contextmanager
def inner_ports(environ: Mapping[str, str], outer: Collection[int] = ()) -> Iterator[dict[str, str]]:
    """For the environment of a service: another port for each of these that something on this machine has already.

    Serve's proxies and HAProxy share a port with whoever else shares it, another service for instance: each would
    answer requests of the other. They take theirs long after they are chosen, so that within the block no other
    service's command chooses any of them. ``outer`` are those that the service itself listens on. Raises `ConfigError`
    where the environment names a port that is taken, or none is free.
    """
    found = {}
    with ExitStack() as held:

        def take(port: int) -> bool:
            return port not in outer and _is_free(port) and hold(f"{LOOPBACK}:{port}", held)

        for name, (usual, what) in INNER_PORTS.items():
            if name in environ:
                if environ[name].isdecimal() and not take(int(environ[name])):
                    raise ConfigError(
                        f"{name} is {environ[name]}, and that port is taken already; set another, or unset {name}"
                    )
            elif not take(usual):
                port = next(filter(take, range(usual + 1, usual + TRIED)), None)
                if port is None:
                    raise ConfigError(
                        f"ports {usual} to {usual + TRIED - 1} are taken, of which {what} needs one; free one"
                    )
                found[name] = str(port)
        yield found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that end now hold nobody up
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return False
    return True
