"""When refusals are recent, and when they last."""

import pytest

from dispatch.admission.recent_refusals import LASTING_S, LASTING_SHARE, RECENT_S, RecentRefusals

LOAD_QPS = 1000.0


def refused(share: float, seconds: float, every_s: float = 0.02) -> tuple[RecentRefusals, float]:
    """This share of the load for so long; gives the instant of the last one too."""
    refusals, now_s = RecentRefusals(), 0.0
    for number in range(1 + round(seconds / every_s)):
        now_s = number * every_s
        refusals.add(max(1, round(share * LOAD_QPS * every_s)), now_s)
    return refusals, now_s


def test_without_any_none_is_recent() -> None:
    assert not RecentRefusals().any(0.0)
    assert not RecentRefusals().lasting(0.0, 0.0)


def test_one_is_recent_for_a_while() -> None:
    refusals = RecentRefusals()
    refusals.add(1, 5.0)
    assert refusals.any(5.0 + RECENT_S - 0.001)
    assert not refusals.any(5.0 + RECENT_S)


@pytest.mark.parametrize(("seconds", "last"), [(LASTING_S - 0.02, False), (LASTING_S, True), (4 * LASTING_S, True)])
def test_they_last_from_a_while_on(seconds: float, last: bool) -> None:
    refusals, now_s = refused(0.5, seconds)
    assert refusals.lasting(LOAD_QPS, now_s) is last


@pytest.mark.parametrize(("load_qps", "last"), [(50.0 / LASTING_SHARE, False), (30.0 / LASTING_SHARE, True)])
def test_few_of_many_do_not_last(load_qps: float, last: bool) -> None:
    refusals, now_s = refused(0.04, 4 * LASTING_S, every_s=0.025)  # 40 a second
    assert refusals.lasting(load_qps, now_s) is last


def test_many_that_became_few_do_not_last() -> None:
    refusals, now_s = refused(0.5, 4 * LASTING_S)
    for _ in range(10):
        now_s += 0.4
        refusals.add(1, now_s)
    assert refusals.any(now_s)
    assert not refusals.lasting(LOAD_QPS, now_s)


def test_after_a_pause_they_begin_anew() -> None:
    refusals, now_s = refused(0.5, 4 * LASTING_S)
    now_s += RECENT_S
    assert not refusals.lasting(LOAD_QPS, now_s)
    refusals.add(500, now_s)
    assert not refusals.lasting(LOAD_QPS, now_s)
