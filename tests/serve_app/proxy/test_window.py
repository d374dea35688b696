"""How many requests a router may have at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve_app.proxy.window import FIRST, FRESH_S, LEAST, LEAST_REFUSING, MOST, Seen, next_size


def settled(service_s: float, allowed_s: float, size: int) -> int:
    """The window of a router that takes so long for a request, one after another, under more load than it carries."""
    for _ in range(200):
        size = next_size(size, Seen(round(100 * size * service_s / allowed_s), in_use=size, waiting=10))
    return size


@pytest.mark.parametrize("first", [LEAST, FIRST, MOST])
@pytest.mark.parametrize(("service_s", "fitting"), [(0.0002, 200), (0.0005, 80), (0.00005, 800), (0.002, 20)])
def test_under_overload_it_settles_where_requests_wait_as_long_as_they_may(
    service_s: float, fitting: int, first: int
) -> None:
    assert settled(service_s, allowed_s=0.04, size=first) == pytest.approx(fitting, rel=0.35)


def test_it_leaves_a_quiet_router_alone() -> None:
    assert next_size(FIRST, Seen(wait_pct=0, in_use=3, waiting=0)) == FIRST


def test_a_wait_that_the_window_does_not_cause_does_not_shrink_it() -> None:
    assert next_size(FIRST, Seen(wait_pct=300, in_use=5, waiting=0)) == FIRST


@pytest.mark.parametrize("first", [LEAST, FIRST, MOST])
def test_a_router_that_mostly_refuses_has_enough_for_its_workers(first: int) -> None:
    size = first
    for _ in range(200):
        size = next_size(size, Seen(wait_pct=30, in_use=size, waiting=10, refusing_pct=300))
    assert LEAST_REFUSING <= size < 1.1 * LEAST_REFUSING


def test_refusals_do_not_keep_a_window_from_shrinking_for_its_wait() -> None:
    size = FIRST
    for _ in range(50):
        size = next_size(size, Seen(wait_pct=200, in_use=size, waiting=10, refusing_pct=300))
    assert size == LEAST


@pytest.mark.parametrize("waiting", [0, 1])
def test_from_the_least_it_is_back_in_three_seconds_however_many_wait(waiting: int) -> None:
    size = LEAST
    for _ in range(30):
        size = next_size(size, Seen(wait_pct=30, in_use=size, waiting=waiting))
    assert size >= FIRST / 1.1


def test_after_an_overload_it_is_back_in_a_second() -> None:
    size = LEAST_REFUSING
    for _ in range(10):
        size = next_size(size, Seen(wait_pct=1, in_use=2, waiting=0))
    assert size >= FIRST


def test_a_router_that_has_just_come_is_behind_for_a_moment_and_not_overloaded() -> None:
    behind = Seen(wait_pct=500, in_use=FIRST, waiting=30)
    assert next_size(FIRST, behind, age_s=1.0) == FIRST
    assert next_size(FIRST, behind, age_s=FRESH_S) < FIRST


@given(
    st.integers(LEAST, MOST), st.integers(0, 10_000), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 500)
)
def test_it_stays_within_its_bounds(size: int, wait_pct: int, in_use: int, waiting: int, refusing_pct: int) -> None:
    assert LEAST <= next_size(size, Seen(wait_pct, in_use, waiting, refusing_pct)) <= MOST
