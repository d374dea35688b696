"""Which of the numbers that are seen count."""

from deployments.router.tables.settled import SETTLED_S, Settled


def test_the_first_number_counts_at_once_and_another_when_it_has_lasted() -> None:
    settled = Settled()
    assert settled.see(0, 0.0) == 0
    assert settled.see(3, 10.0) == 3
    assert settled.see(4, 20.0) == 3
    assert settled.see(4, 20.0 + SETTLED_S - 0.1) == 3
    assert settled.see(4, 20.0 + SETTLED_S) == 4


def test_what_comes_and_goes_never_does() -> None:
    settled = Settled()
    assert {settled.see(3 + step % 2, step * 0.7 * SETTLED_S) for step in range(20)} == {3}


def test_none_changes_nothing_however_long() -> None:
    settled = Settled()
    settled.see(3, 0.0)
    assert settled.see(0, 1.0) == settled.see(0, 100.0) == 3
