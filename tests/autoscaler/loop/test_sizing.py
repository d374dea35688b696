"""Pools grow at once, and shrink when fewer were enough for long."""

from hypothesis import given
from hypothesis import strategies as st

from autoscaler.loop.sizing import Bounds, Sizing


def test_a_number_of_workers_is_kept_within_bounds() -> None:
    assert [Bounds(1, 4).within(workers) for workers in (0, 1, 3, 4, 9)] == [1, 1, 3, 4, 4]


def test_a_pool_grows_at_once() -> None:
    assert Sizing().decide({"cpu": 5, "gpu": 1}, {"cpu": 2, "gpu": 1}, 0.0) == {"cpu": 5, "gpu": 1}


def test_a_pool_shrinks_to_the_most_that_was_asked_for_in_a_minute() -> None:
    sizing = Sizing()
    for now_s, asked in ((0.0, 1), (20.0, 3), (40.0, 2), (59.9, 1)):
        assert sizing.decide({"cpu": asked}, {"cpu": 5}, now_s) == {"cpu": 5}
    assert sizing.decide({"cpu": 1}, {"cpu": 5}, 60.0) == {"cpu": 3}
    assert sizing.decide({"cpu": 1}, {"cpu": 3}, 61.0) == {"cpu": 3}
    assert sizing.decide({"cpu": 1}, {"cpu": 3}, 121.0) == {"cpu": 1}


def test_a_moment_in_which_all_were_needed_begins_the_minute_anew() -> None:
    sizing = Sizing()
    for now_s, asked in ((0.0, 1), (50.0, 2), (70.0, 1), (129.0, 1)):
        assert sizing.decide({"cpu": asked}, {"cpu": 2}, now_s) == {"cpu": 2}
    assert sizing.decide({"cpu": 1}, {"cpu": 2}, 130.0) == {"cpu": 1}


def test_pools_have_minutes_of_their_own() -> None:
    sizing = Sizing()
    sizing.decide({"cpu": 1, "gpu": 2}, {"cpu": 2, "gpu": 2}, 0.0)
    sizing.decide({"cpu": 1, "gpu": 1}, {"cpu": 2, "gpu": 2}, 30.0)
    assert sizing.decide({"cpu": 1, "gpu": 1}, {"cpu": 2, "gpu": 2}, 60.0) == {"cpu": 1, "gpu": 2}


@given(st.lists(st.tuples(st.floats(0.5, 40.0), st.integers(0, 6)), min_size=1, max_size=40))
def test_a_pool_is_never_smaller_than_what_was_asked_for_within_the_last_minute(
    asked: list[tuple[float, int]],
) -> None:
    sizing, size, now_s = Sizing(), 3, 0.0
    recent: list[tuple[float, int]] = []
    for pause_s, workers in asked:
        now_s += pause_s
        recent.append((now_s, workers))
        new = sizing.decide({"cpu": workers}, {"cpu": size}, now_s)["cpu"]
        within = [each for at_s, each in recent if at_s >= now_s - 60.0 + 1e-9]
        assert new >= max(within) if new < size else new == max(size, workers)
        assert new >= workers
        if new < size:
            recent = [(now_s, workers)]
        size = new
