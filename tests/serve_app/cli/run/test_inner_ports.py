"""Two services on one machine share no port of Serve's proxies."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from catalog.errors import ConfigError
from serve_app.cli.run import inner_ports as module
from serve_app.cli.run.inner_ports import inner_ports
from serve_app.testing.free_ports import find_free_port

NAME = "RAY_SERVE_HAPROXY_METRICS_PORT"


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> int:
    port = find_free_port()
    monkeypatch.setattr(module, "INNER_PORTS", {NAME: (port, "metrics")})
    return port


@pytest.fixture
def taken() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def take(stack: ExitStack, port: int) -> None:
    """As Serve's proxies and HAProxy do: whoever shares the port as well may listen, too."""
    listener = stack.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()


def test_the_usual_port_is_taken_where_nobody_has_it(usual: int) -> None:
    assert inner_ports({}) == {}


def test_another_service_keeps_its_port(usual: int, taken: ExitStack) -> None:
    take(taken, usual)
    (port,) = inner_ports({}).values()
    assert usual < int(port) < usual + module.TRIED
    take(taken, int(port))
    assert int(inner_ports({})[NAME]) > int(port)


def test_a_port_of_the_environment_stays_unless_it_is_taken(usual: int, taken: ExitStack) -> None:
    take(taken, usual)
    free = find_free_port()
    assert inner_ports({NAME: str(free)}) == {}
    with pytest.raises(ConfigError, match=rf"{NAME} is {usual}, and that port is taken already; set another, or unset"):
        inner_ports({NAME: str(usual)})


def test_where_no_port_is_free_that_is_said(usual: int, taken: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED", 2)
    take(taken, usual)
    take(taken, usual + 1)
    with pytest.raises(ConfigError, match=rf"ports {usual} to {usual + 1} are taken, of which metrics needs one"):
        inner_ports({})
