"""What `accord-haproxy` logs for Serve to make metrics of: real HAProxy, and Serve's own reader of its lines."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ray.serve._private.haproxy_metrics import HAProxyMetricsCollector, ParsedMetrics

from haproxy_scene import WITHIN_S, Manager, managed
from serve_app.proxy.logged_method import METHODS, OTHER
from serve_app.testing.free_ports import find_free_port

pytestmark = pytest.mark.timeout(180)


@contextmanager
def log_of(manager: Manager) -> Iterator[socket.socket]:
    """What HAProxy logs for Serve from here on, a datagram a request."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(Path(manager.folder) / "m.sock"))
        log.settimeout(WITHIN_S)
        yield log


def logged(manager: Manager, log: socket.socket, request: str) -> ParsedMetrics:
    with socket.create_connection(("127.0.0.1", manager.port), timeout=WITHIN_S) as client:
        client.sendall(request.encode() + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.")
    while (parsed := HAProxyMetricsCollector.parse_line(log.recv(8192))) is None:
        pass  # what HAProxy says of itself
    return parsed


def test_what_clients_write_is_no_label() -> None:
    with managed() as manager, log_of(manager) as log:
        manager.route(("r0", find_free_port()))  # nobody is there: what HAProxy answers itself is logged as well
        for method in METHODS:
            assert logged(manager, log, f"{method} / HTTP/1.1").method == method
        made_up = [logged(manager, log, f"QX{n} /v2/{n}?n={n} HTTP/1.1\r\nx-n: {n}") for n in range(20)]
        made_up += [logged(manager, log, f"{method} / HTTP/1.1") for method in ("get", "M-SEARCH", "Q%HM")]
        assert {each.method for each in made_up} == {OTHER}
        no_requests = [logged(manager, log, line) for line in ("nothing of the kind", 'Q"] / HTTP/1.1')]
        assert {each.method for each in no_requests} == {None}
        assert {each.route for each in made_up + no_requests} == {"/", None}
        assert {each.app for each in made_up + no_requests} == {"accord", None}
        assert {each.status_code for each in made_up + no_requests} == {"503", "400"}
