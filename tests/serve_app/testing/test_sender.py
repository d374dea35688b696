"""The load generator in a process of its own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import numpy as np

from serve_app.loadgen.dataset import Dataset
from serve_app.testing.queries import Queries
from serve_app.testing.sender import Load, Sender

ANSWER = b'{"model_name":"v","outputs":[{"name":"label","datatype":"INT64","shape":[1],"data":[0]}]}'


@contextmanager
def silent_until(over: Event) -> Iterator[str]:
    """The URL of a server that answers nothing before ``over``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            over.wait(60)
            self.send_response(200)
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)

        def log_message(self, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            over.set()
            server.shutdown()


def sent(url: str, timeout_s: float) -> Queries:
    """What came back of one query."""
    with Sender(url, Dataset((b"{}",), (0,)), timeout_s=timeout_s) as sender:
        sender.begin(Load(np.array([0.0]), 0.1, time.monotonic()))
        return sender.finish()


def test_a_query_is_given_up_after_the_time_that_the_sender_was_given() -> None:
    over = Event()
    with silent_until(over) as url:
        assert sent(url, 0.3).kind.tolist() == ["timeout"]
        over.set()
        assert sent(url, 30.0).failed.tolist() == [False]
