"""What is expected at a load: what was seen there, or at a lower one."""

import pytest

from dispatch.latency.load_memory import MOST_GROWTH, Levels, LoadMemory

LIGHT = Levels(run_factor=1.0, run_tail=1.2, path_s=0.004, path_tail_s=0.006)
HEAVY = Levels(run_factor=1.8, run_tail=1.5, path_s=0.010, path_tail_s=0.030)


def test_what_was_seen_at_a_load_is_expected_there_again() -> None:
    memory = LoadMemory()
    memory.add(100.0, LIGHT, 0.0)
    memory.add(800.0, HEAVY, 1.0)
    assert memory.expected(100.0) == LIGHT
    assert memory.expected(105.0) == LIGHT, "of the same half octave"
    assert memory.expected(800.0) == HEAVY


def test_above_what_was_seen_runs_and_way_grow_by_the_fourth_root_of_the_load_within_bounds() -> None:
    memory = LoadMemory()
    memory.add(128.0, LIGHT, 0.0)
    doubled = memory.expected(256.0)
    assert doubled is not None
    assert doubled.run_factor == pytest.approx(2.0**0.25)
    assert doubled.path_s == pytest.approx(0.004 * 2.0**0.25)
    assert doubled.path_tail_s == pytest.approx(0.006 * 2.0**0.25)
    assert doubled.run_tail == 1.2
    far = memory.expected(1e6)
    assert far is not None
    assert far.run_factor == pytest.approx(MOST_GROWTH)


def test_nothing_is_expected_below_what_was_seen() -> None:
    memory = LoadMemory()
    assert memory.expected(1.0) is None
    memory.add(800.0, HEAVY, 0.0)
    assert memory.expected(100.0) is None


def test_what_is_seen_later_counts_for_more() -> None:
    memory = LoadMemory()
    memory.add(100.0, LIGHT, 0.0)
    for number in range(2000):
        memory.add(100.0, HEAVY, 1.0 + number)
    expected = memory.expected(100.0)
    assert expected is not None
    assert expected.run_factor == pytest.approx(HEAVY.run_factor, rel=1e-3)
    assert expected.path_tail_s == pytest.approx(HEAVY.path_tail_s, rel=1e-3)


def test_the_larger_of_each_part() -> None:
    one = Levels(run_factor=1.0, run_tail=2.0, path_s=3.0, path_tail_s=4.0)
    other = Levels(run_factor=2.0, run_tail=1.0, path_s=4.0, path_tail_s=3.0)
    assert one.at_least(other) == Levels(run_factor=2.0, run_tail=2.0, path_s=4.0, path_tail_s=4.0)
