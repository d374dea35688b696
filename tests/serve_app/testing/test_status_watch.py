"""A watch goes on over what a service that dies leaves of its answers."""

import time

import pytest
from raw_server import CUT_OFF, NO_HTTP, raw_server, whole

from serve_app.testing import status_watch
from serve_app.testing.status_watch import StatusWatch, look


@pytest.mark.parametrize("answer", [CUT_OFF, NO_HTTP, b"", whole(b"no JSON"), whole(b"{}", "503 Busy")])
def test_an_answer_that_is_none_is_an_oserror(answer: bytes) -> None:
    with raw_server(answer) as url, pytest.raises(OSError):
        look(url)


def test_a_look_without_a_whole_answer_is_counted_and_the_next_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_watch, "EVERY_S", 0.01)
    with raw_server(CUT_OFF, NO_HTTP, whole(b'{"workers":{}}')) as url, StatusWatch(url) as watch:
        while not watch.snapshots:
            time.sleep(0.01)
    assert watch.unanswered == 2
    assert watch.snapshots[0].status == {"workers": {}}
