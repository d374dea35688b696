"""The proxy's stamp on a request: an age where it can be one, nothing otherwise."""

import pytest

from serve_app.http.in_front.request_age import HEADER, MOST_S, RequestAge, boot_id

NOW_S = 1_700_000_000.0
AGE = RequestAge("here", lambda: NOW_S)


def stamp(age_s: float, machine: str = "here") -> list[tuple[bytes, bytes]]:
    return [(b"host", b"x"), (HEADER, b"%d-%s" % (round((NOW_S - age_s) * 1e6), machine.encode()))]


def test_the_age_counts_from_the_proxy() -> None:
    assert AGE.age_s(stamp(0.25)) == pytest.approx(0.25, abs=1e-5)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        stamp(0.25, "elsewhere"),
        stamp(-1.0),
        stamp(MOST_S + 1),
        [(HEADER, b"soon-here")],
        [(HEADER, b"-here")],
        [(HEADER, b"-5-here")],
        [(HEADER, "\u0665-here".encode())],
    ],
    ids=["none", "another machine", "from the future", "clock was set", "no number", "empty", "negative", "not ASCII"],
)
def test_what_is_no_age_is_none(headers: list[tuple[bytes, bytes]]) -> None:
    assert AGE.age_s(headers) == 0.0


def test_this_machine_knows_its_last_start() -> None:
    assert boot_id() == boot_id()
