"""Ports that nobody listens on."""

import socket


def find_free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
