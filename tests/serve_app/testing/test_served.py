"""A server that is there as long as a block, and not longer."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from raw_server import NO_HTTP, raw_server

from serve_app.testing.free_ports import find_free_port
from serve_app.testing.served import served

SERVER = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

FIRST_BROKEN = """
    broken = True
    def do_POST(self):
        if Handler.broken:
            Handler.broken = False
            self.wfile.write(b"no status\\r\\n")
            return
"""

USER = """
import signal, sys, time
from serve_app.testing.served import served

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
with served([sys.executable, sys.argv[1], sys.argv[2]], {}, int(sys.argv[2]), "/", b"{}") as pid:
    print(pid, flush=True)
    time.sleep(600)
"""


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_what_is_told_to_end_takes_its_server_along(tmp_path: Path, number: signal.Signals) -> None:
    server, user = tmp_path / "server.py", tmp_path / "user.py"
    server.write_text(SERVER)
    user.write_text(USER)
    command = [sys.executable, str(user), str(server), str(find_free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        assert psutil.pid_exists(pid)
        running.send_signal(number)
        assert running.wait(60) != 0
    assert not psutil.pid_exists(pid)


def test_a_port_where_something_else_than_http_answers_is_taken() -> None:
    with (
        raw_server(NO_HTTP) as url,
        pytest.raises(RuntimeError, match=r"port \d+ of this machine answers already"),
        served([sys.executable, "-c", ""], {}, port_of(url), "/", b"{}"),
    ):
        pass


def test_a_server_may_begin_with_answers_that_are_none(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER.replace("    def do_POST(self):\n", FIRST_BROKEN))
    port = find_free_port()
    with served([sys.executable, str(server), str(port)], {}, port, "/", b"{}") as pid:
        assert psutil.pid_exists(pid)
