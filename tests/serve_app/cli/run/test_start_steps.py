"""What people see of a service that starts."""

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from serve_app.cli.run.start_steps import STILL_EVERY_S, StartSteps


class Played(http.server.BaseHTTPRequestHandler):
    status: ClassVar[Any] = {"workers": {}}

    def do_GET(self) -> None:
        body = json.dumps(self.status).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A service whose status is `Played.status`."""
    monkeypatch.setattr(Played, "status", {"workers": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Played) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().err.splitlines() if line.strip()]


def worker(*loaded: str, **failed: str) -> dict[str, Any]:
    return {"loaded": list(loaded), "failed": failed}


def test_a_step_is_a_line_with_the_seconds_and_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = 100.0
    steps = StartSteps("http://127.0.0.1:9", 1, lambda: now_s)
    steps.say("Starting")
    now_s = 112.34
    steps.say("Starting")
    steps.say("Ready")
    assert lines(capsys) == ["0.0 s  Starting", "12.3 s  Ready"]


def test_workers_are_counted_as_they_come(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    steps = StartSteps(url, 2, lambda: 0.0)
    steps.look()
    Played.status = {"workers": {"a": worker("small")}}
    steps.look()
    steps.look()
    Played.status = {"workers": {"a": worker("small"), "b": worker("small")}}
    steps.look()
    steps.look()
    assert [line.removeprefix("0.0 s  ") for line in lines(capsys)] == [
        "The router answers; 0 of 2 workers hold their variants",
        "The router answers; 1 of 2 workers hold their variants",
        "The router answers; 2 of 2 workers hold their variants",
        "Warming up: measuring what batches take here",
    ]


def test_a_variant_that_cannot_be_loaded_is_named_with_the_reason(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    Played.status = {"workers": {"a": worker(large="no such file")}}
    StartSteps(url, 1, lambda: 0.0).look()
    assert "A variant could not be loaded: large: no such file" in lines(capsys)[-1]


def test_a_service_that_does_not_answer_is_said_to_be_starting_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now_s = 0.0
    steps = StartSteps("http://127.0.0.1:9", 1, lambda: now_s)
    steps.say("Starting")
    now_s = 1.0
    steps.look()
    assert len(lines(capsys)) == 1
    now_s += STILL_EVERY_S
    steps.look()
    steps.look()
    assert [line.partition("s  ")[2] for line in lines(capsys)] == [
        "Still starting after 21 s: the router does not answer yet"
    ]


def test_a_reason_is_printed_as_it_is(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    Played.status = {"workers": {"a": worker(large="[enforce fail at file.cc] no weights in [/data/weights]")}}
    StartSteps(url, 1, lambda: 0.0).look()
    assert "large: [enforce fail at file.cc] no weights in [/data/weights]" in " ".join(lines(capsys))
