"""Two services on one machine share no port of Serve's proxies."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from serve_app.cli.run import inner_ports as module
from serve_app.cli.run.inner_ports import inner_ports
from serve_app.testing.free_ports import find_free_port

ROOT = Path(__file__).parents[4]
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


def command(usual: int, stack: ExitStack) -> tuple[subprocess.Popen[str], int]:
    """A process that holds its ports until the stack is closed, and the one that it has."""
    code = (
        "import sys; from serve_app.cli.run import inner_ports as module\n"
        f"module.INNER_PORTS = {{{NAME!r}: ({usual}, 'metrics')}}\n"
        f"with module.inner_ports({{}}) as found: print(found.get({NAME!r}, {usual}), flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_the_usual_port_is_taken_where_nobody_has_it(usual: int) -> None:
    with inner_ports({}) as found:
        assert found == {}


def test_another_service_keeps_its_port(usual: int, taken: ExitStack) -> None:
    take(taken, usual)
    with inner_ports({}) as found:
        (port,) = found.values()
        assert usual < int(port) < usual + module.TRIED
    take(taken, int(port))
    with inner_ports({}) as found:
        assert int(found[NAME]) > int(port)


def test_two_commands_at_once_have_ports_of_their_own_before_anything_listens(usual: int, taken: ExitStack) -> None:
    one, of_one = command(usual, taken)
    _, of_other = command(usual, taken)
    assert (of_one, of_other) == (usual, usual + 1)
    one.kill()
    one.wait()
    assert command(usual, taken)[1] == usual


def test_a_port_that_the_service_itself_listens_on_is_not_taken(usual: int) -> None:
    with inner_ports({}, (usual, usual + 1)) as found:
        assert int(found[NAME]) > usual + 1


def test_a_port_of_the_environment_stays_unless_it_is_taken(usual: int, taken: ExitStack) -> None:
    take(taken, usual)
    free = find_free_port()
    with inner_ports({NAME: str(free)}) as found:
        assert found == {}
        for port in (usual, free):
            words = rf"{NAME} is {port}, and that port is taken already; set another, or unset"
            with pytest.raises(ConfigError, match=words), inner_ports({NAME: str(port)}):
                pass


def test_where_no_port_is_free_that_is_said(usual: int, taken: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED", 2)
    take(taken, usual)
    take(taken, usual + 1)
    words = rf"ports {usual} to {usual + 1} are taken, of which metrics needs one"
    with pytest.raises(ConfigError, match=words), inner_ports({}):
        pass
