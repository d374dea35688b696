"""Questions to HAProxy's admin socket, and the relay in front of it."""

import os
import socket
from pathlib import Path

import pytest

from haproxy_scene import managed
from serve_app.proxy.admin_socket import ask, pid_behind

pytestmark = pytest.mark.timeout(120)


def test_nobody_is_behind_a_socket_that_is_not_there_or_was_left(tmp_path: Path) -> None:
    left = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left))
    assert pid_behind(str(tmp_path / "none.sock")) is None
    assert pid_behind(str(left)) is None


async def test_serve_sees_the_supervisor_where_haproxy_answers() -> None:
    with managed() as manager:
        (haproxy,) = manager.processes("haproxy")
        assert pid_behind(f"{manager.folder}/h.sock") == haproxy.pid
        assert pid_behind(f"{manager.folder}/a.sock") == manager.supervisor().pid != os.getpid()
        outer, inner = [await ask(f"{manager.folder}/{name}.sock", "show stat") for name in ("a", "h")]
    assert outer.splitlines()[0] == inner.splitlines()[0]
    assert outer.startswith(b"# pxname")
