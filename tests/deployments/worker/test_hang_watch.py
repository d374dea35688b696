"""When a run is said to hang: by what runs took before, and never by how large a batch is."""

import time

import pytest

from deployments.worker import hang_watch
from deployments.worker.hang_watch import LEAST_S, TIMES, UNKNOWN_S, HangWatch


class Clock:
    """Gives the time that the test says it is."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(hang_watch, "time", made)
    assert time is not made
    return made


def run(watch: HangWatch, clock: Clock, rows: int, took_s: float) -> None:
    watch.begin("slow", rows)
    clock.now_s += took_s
    watch.end(came_back=True)


def hangs_after(watch: HangWatch, clock: Clock, rows: int) -> float:
    """How long a batch may run before it is said to hang, to a hundredth of a second."""
    watch.begin("slow", rows)
    began_s = clock.now_s
    while watch.why() is None:
        clock.now_s += 0.01
    watch.end(came_back=True)
    return clock.now_s - began_s


def test_nothing_hangs_that_does_not_run(clock: Clock) -> None:
    watch = HangWatch()
    assert watch.why() is None
    run(watch, clock, 1, 1000.0)
    assert watch.why() is None
    watch.end(came_back=True)


def test_a_variant_that_never_came_back_gets_long(clock: Clock) -> None:
    assert hangs_after(HangWatch(), clock, 8) == pytest.approx(UNKNOWN_S, abs=0.02)


def test_a_quick_batch_hangs_after_a_few_seconds(clock: Clock) -> None:
    watch = HangWatch()
    run(watch, clock, 1, 0.001)
    assert hangs_after(watch, clock, 1) == pytest.approx(LEAST_S, abs=0.02)


def test_larger_batches_get_as_much_more_as_they_have_rows(clock: Clock) -> None:
    watch = HangWatch()
    run(watch, clock, 2, 1.0)
    assert hangs_after(watch, clock, 64) == pytest.approx(TIMES * 32.0, abs=0.02)


def test_smaller_batches_of_a_variant_that_takes_as_long_for_one_row_as_for_many_do_not_hang(clock: Clock) -> None:
    watch = HangWatch()
    run(watch, clock, 16, 22.0)
    assert hangs_after(watch, clock, 1) == pytest.approx(TIMES * 22.0, abs=0.02)


def test_the_longest_run_counts_and_it_is_said_what_hangs(clock: Clock) -> None:
    watch = HangWatch()
    for took_s in (1.0, 3.0, 0.1):
        run(watch, clock, 1, took_s)
    watch.begin("slow", 1)
    clock.now_s += TIMES * 3.0 - 0.1
    assert watch.why() is None
    clock.now_s += 0.2
    assert watch.why() == "a batch of 1 rows runs on variant slow for 30.1 s; 30.0 s would be long"


def test_a_batch_that_raised_says_nothing_of_how_long_the_variant_takes(clock: Clock) -> None:
    watch = HangWatch()
    watch.begin("slow", 1)
    clock.now_s += 0.001
    watch.end(came_back=False)
    assert watch.why() is None
    assert hangs_after(watch, clock, 1) == pytest.approx(UNKNOWN_S, abs=0.02)


def test_runs_of_short_inputs_say_nothing_of_long_ones(clock: Clock) -> None:
    watch = HangWatch()
    run(watch, clock, 1, 0.01)
    for length, patience_s in ((16, UNKNOWN_S), (4096, UNKNOWN_S)):
        watch.begin("slow", 1, length)
        clock.now_s += patience_s - 0.1
        assert watch.why() is None
        clock.now_s += 0.2
        assert watch.why() is not None
        watch.end(came_back=False)
    watch.begin("slow", 1, 4096)
    clock.now_s += 2.0
    watch.end(came_back=True)
    watch.begin("slow", 1, 4200)
    clock.now_s += TIMES * 2.0 - 0.1
    assert watch.why() is None
    clock.now_s += 0.2
    assert watch.why() is not None
