"""What became of inputs, and whether it should have."""

import pytest

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.connection import Reply
from benchmarks.fuzz.verdict import Verdict, documented, documented_errors


@pytest.mark.parametrize(
    ("reply", "known"),
    [
        (Reply(503, b'{"reason": "NoWorker"}'), True),
        (Reply(504, b'{"reason": "DeadlineMissed"}'), True),
        (Reply(500, b'{"reason": "NoWorker"}'), False),
        (Reply(500, b'{"reason": "Internal"}'), False),
        (Reply(500, b"Internal Server Error"), False),
        (Reply(503, b"[]"), False),
    ],
)
def test_an_error_of_the_server_is_known_by_status_and_reason_on_the_page(reply: Reply, known: bool) -> None:
    assert len(documented_errors()) >= 5
    assert documented(reply) is known


def test_counts_and_examples() -> None:
    verdict = Verdict()
    good, broken = Case("inference", b"POST"), Case("broken HTTP", b"\0", broken=True)
    verdict.take(good, Reply(400))
    verdict.take(good, Reply(503, b'{"reason": "NoWorker"}'))
    verdict.take(good, Reply(500, b"Internal Server Error"))
    verdict.take(good, Reply(None))
    verdict.take(good, Reply(None, closed=True))
    verdict.take(broken, Reply(None))
    assert verdict.by_status == {"400": 1, "503": 1, "500": 1, "silent": 2, "closed": 1}
    assert (verdict.undocumented, verdict.unanswered) == (1, 1)
    assert [each["status"] for each in verdict.examples] == [500, None]
