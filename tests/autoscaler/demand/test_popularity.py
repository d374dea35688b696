"""Shares of queries by stage, over a window."""

import pytest

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.popularity import Popularity


def report(end_s: float, queries: int, refused: int = 0, expired: int = 0, **rows: int) -> Statistics:
    ran = {"e": rows} if rows else {}
    return Statistics(end_s - 10.0, end_s, {"e": queries}, {}, ran, {"e": refused}, {"e": expired})


def test_shares_are_rows_by_queries() -> None:
    popularity = Popularity()
    popularity.on_statistics(report(10.0, 60, a=60, b=15))
    popularity.on_statistics(report(20.0, 40, a=40, b=35))
    assert popularity.shares() == {"e": {"a": 1.0, "b": 0.5}}


def test_what_is_older_than_the_window_counts_no_more() -> None:
    popularity = Popularity(window_s=20.0)
    popularity.on_statistics(report(10.0, 100, a=100))
    popularity.on_statistics(report(20.0, 100, a=50))
    popularity.on_statistics(report(30.0, 100, a=50))
    assert popularity.shares()["e"]["a"] == 0.5


def test_a_member_that_is_not_asked_for_want_of_a_worker_is_still_reckoned_with() -> None:
    popularity = Popularity(expected={"e": {"a": 1.0, "b": 0.5}}, expected_queries=100.0)
    assert popularity.shares() == {"e": {"a": 1.0, "b": 0.5}}
    popularity.on_statistics(report(10.0, 900, a=900))
    assert popularity.shares()["e"] == pytest.approx({"a": 1.0, "b": 0.05})


def test_endpoints_without_counts_have_no_shares() -> None:
    popularity = Popularity()
    popularity.on_statistics(report(10.0, 100))
    assert popularity.shares() == {}


def test_refused_queries_run_no_stage() -> None:
    popularity = Popularity()
    popularity.on_statistics(report(10.0, 100, refused=60, find=40, read=200))
    assert popularity.shares() == {"e": {"find": 1.0, "read": 5.0}}


def test_queries_that_run_in_the_next_interval_count_with_it() -> None:
    popularity = Popularity(window_s=30.0)
    popularity.on_statistics(report(10.0, 3))
    popularity.on_statistics(report(20.0, 1, a=4))
    assert popularity.shares() == {"e": {"a": 1.0}}
    popularity.on_statistics(report(30.0, 50))
    popularity.on_statistics(report(40.0, 50))  # nothing runs, for want of workers perhaps
    popularity.on_statistics(report(50.0, 0, a=50))
    assert popularity.shares() == {"e": {"a": 1.0}}


def test_while_queries_expire_what_was_counted_before_stays() -> None:
    popularity = Popularity(window_s=30.0)
    popularity.on_statistics(report(10.0, 100, find=100, read=300))
    for end_s in (20.0, 30.0, 40.0, 50.0):  # longer than the window: what was known is not forgotten
        popularity.on_statistics(report(end_s, 1000, expired=700, find=900, read=900))
        assert popularity.shares() == {"e": {"find": 1.0, "read": 3.0}}
    popularity.on_statistics(report(60.0, 100, expired=4, find=100, read=200))
    assert popularity.shares() == {"e": {"find": 1.0, "read": 2.0}}, "and is once they expire no more"


def test_more_jobs_than_before_are_learned_while_queries_expire() -> None:
    popularity = Popularity(window_s=30.0)
    popularity.on_statistics(report(10.0, 100, find=100, read=300))
    popularity.on_statistics(report(20.0, 100, expired=50, find=90, read=600))
    assert popularity.shares() == {"e": {"find": 1.0, "read": 6.0}}
    for end_s in (30.0, 40.0, 50.0):
        popularity.on_statistics(report(end_s, 100, find=100, read=200))
    assert popularity.shares() == {"e": {"find": 1.0, "read": 2.0}}


def test_where_queries_expire_from_the_first_on_what_runs_is_what_is_known() -> None:
    popularity = Popularity()
    popularity.on_statistics(report(10.0, 50, expired=50))
    assert popularity.shares() == {}
    popularity.on_statistics(report(20.0, 50, expired=40, find=100, read=250))
    assert popularity.shares() == {"e": {"find": 1.0, "read": 2.5}}
