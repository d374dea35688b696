"""The counters that the proxy sends along, read."""

import pytest

from serve_app.http.in_front.refusals import MOST_KNOWN, ProxyRefusals

PATH, OTHER = b"/v2/models/digits/infer", b"/v2/models/other/infer"


def counted(*values: str, path: bytes = PATH) -> list[int]:
    refusals = ProxyRefusals("boot")
    return [refusals.more(path, f"{value}-boot".encode()) for value in values]


def test_what_came_since_the_last_request_counts_once() -> None:
    assert counted("0-7", "0-7", "12-7", "12-7", "20-7") == [0, 0, 12, 0, 8]


def test_what_was_refused_before_the_first_request_here_is_not_known() -> None:
    assert counted("500-7", "503-7") == [0, 3]


def test_requests_that_overtake_each_other_count_nothing_twice() -> None:
    assert counted("0-7", "10-7", "8-7", "11-7") == [0, 10, 0, 1]


def test_a_proxy_that_was_started_anew_begins_anew_and_the_one_before_it_goes_on() -> None:
    assert counted("0-7", "10-7", "0-8", "11-7", "2-8") == [0, 10, 0, 1, 2]


def test_every_path_has_its_own_counter() -> None:
    refusals = ProxyRefusals("boot")
    assert [refusals.more(path, b"0-7-boot") for path in (PATH, OTHER)] == [0, 0]
    assert [refusals.more(PATH, b"5-7-boot"), refusals.more(OTHER, b"1-7-boot")] == [5, 1]


@pytest.mark.parametrize("value", [b"", b"9", b"9-7", b"9-7-root", b"-7-boot", b"x-7-boot", b"9" * 30 + b"-7-boot"])
def test_what_the_proxy_of_this_machine_cannot_have_sent_does_not_count(value: bytes) -> None:
    refusals = ProxyRefusals("boot")
    refusals.more(PATH, b"0-7-boot")
    assert refusals.more(PATH, value) == 0


def test_it_remembers_so_many_counters_at_most() -> None:
    refusals = ProxyRefusals("boot")
    for number in range(3 * MOST_KNOWN):
        refusals.more(PATH, f"0-{number}-boot".encode())
        assert len(refusals._latest) <= MOST_KNOWN
