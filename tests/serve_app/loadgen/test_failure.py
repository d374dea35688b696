import errno

import aiohttp
import pytest

from serve_app.loadgen.failure import describe_failure

KEY = aiohttp.client_reqrep.ConnectionKey("host", 80, False, True, None, None, None)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (TimeoutError(), "timeout", "no answer from http://host in 5 s"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "connection_refused", "nothing listens at http://host"),
        (OSError(errno.EMFILE, "too many"), "open_files", "ulimit -n"),
        (OSError(errno.EHOSTUNREACH, "no route"), "connection_failed", "no route"),
    ],
)
def test_a_failure_to_connect_is_told_by_its_cause(error: OSError, kind: str, words: str) -> None:
    raised = error if isinstance(error, TimeoutError) else aiohttp.ClientConnectorError(KEY, error)
    got_kind, text = describe_failure(raised, "http://host", 5.0)
    assert got_kind == kind
    assert words in text


def test_a_broken_connection_is_told_from_a_refused_one() -> None:
    kind, text = describe_failure(aiohttp.ServerDisconnectedError(), "http://host", 5.0)
    assert kind == "connection_lost"
    assert "Server disconnected" in text
