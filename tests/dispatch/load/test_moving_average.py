"""The moving average, against counts by hand."""

import numpy as np
import pytest

from dispatch.load.moving_average import MovingAverage


def after(arrivals_s: list[float], window_s: float = 0.5) -> MovingAverage:
    load = MovingAverage(window_s)
    for now_s in arrivals_s:
        load.on_arrival(now_s)
    return load


def test_nothing_has_come_yet() -> None:
    assert MovingAverage().load_qps(3.0) == 0.0


def test_arrivals_of_the_window_count_and_the_one_at_its_start_does_not() -> None:
    load = after([0.0, 0.6, 0.7, 0.9, 1.1])
    assert load.load_qps(1.1) == pytest.approx(3 / 0.5)  # 0.7, 0.9 and 1.1; 0.6 is at the start of the window


def test_the_first_window_is_as_long_as_it_has_lasted() -> None:
    assert after([1.0, 1.1, 1.2]).load_qps(1.2) == pytest.approx(3 / 0.2)


def test_the_first_arrival_counts_as_over_a_tenth_of_the_window() -> None:
    assert after([1.0]).load_qps(1.0) == pytest.approx(1 / 0.05)


def test_a_lull_ends_the_load() -> None:
    load = after([0.0, 0.1, 0.2])
    assert load.load_qps(0.71) == 0.0


def test_the_load_before_a_lull_is_expected_after_it_until_a_window_has_passed() -> None:
    load = after([0.0, 0.1, 0.2, 5.0])
    assert load.load_qps(5.0) == pytest.approx(3 / 0.5)
    assert load.load_qps(5.49) == pytest.approx(3 / 0.5)
    assert load.load_qps(5.5) == 0.0


def test_after_a_lull_the_average_is_over_the_time_since_without_the_arrival_that_ended_it() -> None:
    load = after([0.0, *np.arange(5.0, 5.101, 0.01).tolist()])
    assert load.load_qps(5.1) == pytest.approx(10 / 0.1)
    assert after([0.0, 5.0, 5.01]).load_qps(5.01) == pytest.approx(1 / 0.05), "a tenth of the window at least"


def test_queries_far_from_each_other_are_a_light_load() -> None:
    load = after([float(second) for second in range(10)])
    assert load.load_qps(9.0) == pytest.approx(1 / 0.5)


def test_the_average_is_that_of_a_count_over_the_window_whenever_it_is_asked() -> None:
    arrivals_s = np.cumsum(np.random.default_rng(7).exponential(0.01, 2_000))
    load = MovingAverage(0.5)
    for index, now_s in enumerate(arrivals_s.tolist()):
        load.on_arrival(now_s)
        if index % 100 == 0 and now_s > 1.0:
            counted = np.count_nonzero((arrivals_s > now_s - 0.5) & (arrivals_s <= now_s))
            assert load.load_qps(now_s) == pytest.approx(counted / 0.5)


def test_rows_of_one_query_that_ends_a_lull_are_no_load() -> None:
    many = [at_s for begin_s in (0.0, 2.0, 4.0) for at_s in [begin_s] * 16]
    assert after(many).load_qps(4.0) == pytest.approx(16 / 0.5)
    assert after([*many, 4.1, 4.2]).load_qps(4.2) == pytest.approx(18 / 0.5)
    assert after([*many, *[4.1] * 16]).load_qps(4.1) == pytest.approx(16 / 0.1)
