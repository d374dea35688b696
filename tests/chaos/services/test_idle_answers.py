"""What an idle service answers, asked row by row over HTTP."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from raw_server import CUT_OFF, raw_server, whole

from chaos.services.idle_answers import classes_of, right_answers
from serve_app.loadgen.dataset import Dataset
from serve_app.loadgen.endpoint import Endpoint

CLASSES = ("negative", "positive")


class OneForEvenRows(BaseHTTPRequestHandler):
    """Says class 1 for even numbers and class 0 for others."""

    def do_GET(self) -> None:
        self._say({"name": "e", "parameters": {"labels": list(CLASSES)}})

    def do_POST(self) -> None:
        number = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["number"]
        label = {"name": "label", "datatype": "INT64", "shape": [1], "data": [1 - number % 2]}
        self._say({"model_name": "v", "outputs": [label]})

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def _say(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def answering() -> Iterator[Endpoint]:
    with HTTPServer(("127.0.0.1", 0), OneForEvenRows) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Endpoint(f"http://127.0.0.1:{server.server_port}", "e")
        server.shutdown()


def test_a_row_that_is_refused_once_is_asked_again_and_twice_is_not_right() -> None:
    said = {"model_name": "v", "outputs": [{"name": "label", "datatype": "INT64", "shape": [1], "data": [1]}]}
    right, refused = whole(json.dumps(said).encode()), whole(b"{}", "429 Too Many Requests")
    with raw_server(right, refused, right, refused, refused, right) as url:
        found = right_answers(Endpoint(url, "e"), Dataset((b"{}",) * 4, (1,) * 4), ())
    assert found.tolist() == [True, True, False, True]


def test_a_service_that_breaks_off_its_answer_is_an_oserror() -> None:
    with raw_server(CUT_OFF) as url, pytest.raises(OSError, match="gave no whole answer"):
        right_answers(Endpoint(url, "e"), Dataset((b"{}",), (1,)), ())


def test_answers_are_held_to_the_labels_whether_these_are_numbers_or_names() -> None:
    bodies = tuple(json.dumps({"number": number}).encode() for number in range(5))
    with answering() as endpoint:
        classes = classes_of(endpoint)
        assert classes == CLASSES
        right = right_answers(endpoint, Dataset(bodies, ("positive", "negative", "negative", 0, None)), classes)
    assert right.tolist() == [True, True, False, True, False]
