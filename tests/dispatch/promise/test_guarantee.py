"""Promised against observed: yes, no, or too early to say."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dispatch.promise.guarantee import (
    DOUBT,
    FALSE_ALARM,
    TARGET_RATE,
    TOO_MANY,
    WINDOW_S,
    Guarantee,
    GuaranteeEvent,
    GuaranteeMonitor,
    Kept,
    promised_rate,
)
from dispatch.selection.policy import Promise

HALF_LOST = Promise(accuracy=0.6, violation_rate=0.5, unavoidable_rate=0.4)


def serve(monitor: GuaranteeMonitor, queries: int, late: int, promise: Promise | None = None) -> None:
    """Batches of one."""
    for number in range(queries):
        monitor.on_served(int(number >= late), int(number < late), 0.0, 0.95, promise)


def seen(queries: int, late: int, promise: Promise | None = None) -> Guarantee:
    monitor = GuaranteeMonitor("digits", 0.0)
    serve(monitor, queries, late, promise)
    return monitor.guarantee(1.0)


def test_what_an_endpoint_is_held_to() -> None:
    assert promised_rate(None) == TARGET_RATE
    assert promised_rate(Promise(0.9, 0.03, 0.0)) == TARGET_RATE, "what tails are expected to miss is within the target"
    assert promised_rate(HALF_LOST) == 0.4, "what cannot be borne is not held against it"


def test_the_verdict_is_that_of_binomial_tests() -> None:
    for queries, late in product((1, 20, 150, 1000), (0, 1, 3, 10, 25, 100)):
        if late > queries:
            continue
        verdict = seen(queries, late).kept
        if late / queries > TARGET_RATE:
            sure = binom.sf(late - 1, queries, TARGET_RATE) < FALSE_ALARM
            assert verdict is (Kept.NO if sure else Kept.TOO_EARLY), (queries, late)
        else:
            sure = binom.cdf(late, queries, TOO_MANY * TARGET_RATE) < DOUBT
            assert verdict is (Kept.YES if sure else Kept.TOO_EARLY), (queries, late)


def test_batches_that_are_all_in_time_say_no_more_than_as_many_queries() -> None:
    def kept(batches: int, size: int) -> Kept:
        monitor = GuaranteeMonitor("digits", 0.0)
        for _ in range(batches):
            monitor.on_served(size, 0, 0.0, 0.95, None)
        return monitor.guarantee(1.0).kept

    for batches in (10, 60, 79, 80, 200):
        assert kept(batches, 32) is kept(batches, 1)
    assert (kept(60, 32), kept(100, 32)) == (Kept.TOO_EARLY, Kept.YES)


def test_the_verdict_is_never_yes_beside_figures_that_contradict_it() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        queries = int(rng.integers(1, 2000))
        guarantee = seen(queries, int(rng.binomial(queries, rng.choice([0.005, 0.01, 0.02, 0.1]))))
        assert guarantee.observed_violation_rate is not None
        if guarantee.observed_violation_rate > TARGET_RATE:
            assert guarantee.kept is not Kept.YES


def test_it_says_no_within_three_seconds_where_a_fifth_of_a_hundred_a_second_is_late() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        monitor = GuaranteeMonitor("digits", 0.0)
        for second in range(10):
            serve(monitor, 100, 0)
            assert monitor.roll(second + 1.0) is None
        events = []
        for second in range(10, 13):
            serve(monitor, 100, int(rng.binomial(100, 0.2)))
            events.append(monitor.roll(second + 1.0))
        assert any(event is not None and event.broken for event in events)
        assert monitor.guarantee(13.0).kept is Kept.NO


def test_chance_alone_hardly_ever_raises_an_event() -> None:
    rng = np.random.default_rng(2)
    monitor = GuaranteeMonitor("digits", 0.0)
    for second in range(3000):
        serve(monitor, 100, int(rng.binomial(100, TARGET_RATE)))
        monitor.roll(second + 1.0)
    assert monitor.events <= 3000 * FALSE_ALARM


def test_an_excess_is_one_event_and_its_end_another() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    events: list[GuaranteeEvent] = []
    for second in range(60):
        serve(monitor, 200, 40 if 20 <= second < 30 else 0)
        event = monitor.roll(second + 1.0)
        if event is not None:
            events.append(event)
    began, ended = events
    assert (began.endpoint, began.broken) == ("digits", True)
    assert began.promised_violation_rate == pytest.approx(TARGET_RATE)
    assert began.observed_violation_rate > TARGET_RATE
    assert ended.broken is False
    assert ended.observed_violation_rate <= TARGET_RATE
    assert monitor.events == 1
    assert (monitor.queries, monitor.violations) == (12_000, 400)


def test_seconds_without_queries_say_nothing_and_end_no_event() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    empty = monitor.guarantee(5.0)
    assert (empty.kept, empty.queries, empty.observed_violation_rate) == (Kept.TOO_EARLY, 0, None)
    serve(monitor, 100, 50)
    began = monitor.roll(6.0)
    assert began is not None
    assert began.broken
    for now_s in range(7, 40):
        assert monitor.roll(float(now_s)) is None
    guarantee = monitor.guarantee(40.0)
    assert (guarantee.kept, guarantee.queries, guarantee.broken) == (Kept.TOO_EARLY, 0, True)


def test_queries_that_are_late_together_count_as_one_draw() -> None:
    alone, together = GuaranteeMonitor("digits", 0.0), GuaranteeMonitor("digits", 0.0)
    for monitor, batch in ((alone, 1), (together, 25)):
        serve(monitor, 950, 0)
        for _ in range(50 // batch):
            monitor.on_served(0, batch, 0.0, 0.95, None)
    assert alone.guarantee(1.0).kept is Kept.NO
    assert together.guarantee(1.0).kept is Kept.TOO_EARLY, "two draws of forty"
    assert together.guarantee(1.0).observed_violation_rate == alone.guarantee(1.0).observed_violation_rate


def test_what_a_policy_promises_under_overload_is_what_counts() -> None:
    assert seen(1000, 390, HALF_LOST).kept is Kept.YES
    assert seen(1000, 600, HALF_LOST).kept is Kept.NO
    impossible = Promise(accuracy=0.0, violation_rate=1.0, unavoidable_rate=1.0)
    assert seen(1000, 1000, impossible).kept is Kept.YES, "nothing was promised"


def test_bounds_are_weighted_by_the_queries_decided_under_them_and_refusals_are_violations() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    monitor.on_served(30, 0, 0.3, 0.95, Promise(0.9, 0.01, 0.0))
    monitor.on_served(6, 4, 5.0, 0.75, Promise(0.7, 0.05, 0.03))
    monitor.on_refused()
    monitor.on_refused()
    guarantee = monitor.guarantee(1.0)
    assert (guarantee.queries, guarantee.violations) == (42, 6)
    assert guarantee.promised_violation_rate == pytest.approx((30 * 0.01 + 10 * 0.03 + 2 * 0.01) / 42)
    assert guarantee.observed_violation_rate == pytest.approx(6 / 42)
    assert guarantee.client_violation_rate == pytest.approx((0.3 + 5.0 + 2) / 42)
    assert guarantee.observed_accuracy == pytest.approx((30 * 0.95 + 6 * 0.75) / 36)
    assert guarantee.expected_violation_rate is not None
    assert guarantee.expected_violation_rate == pytest.approx((30 * 0.01 + 10 * 0.05) / 40)
    assert guarantee.expected_accuracy == pytest.approx((30 * 0.9 + 6 * 0.7) / 36)


def test_bounds_are_shown_only_where_tables_decided_on_nearly_all() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    monitor.on_served(90, 0, 0.0, 0.95, Promise(0.9, 0.01, 0.0))
    monitor.on_served(10, 0, 0.0, 0.95, None)
    guarantee = monitor.guarantee(1.0)
    assert (guarantee.expected_accuracy, guarantee.expected_violation_rate) == (None, None)
    assert guarantee.observed_accuracy == pytest.approx(0.95)


@pytest.mark.parametrize("looked_every_s", [1.0, 500.0])
def test_what_is_older_than_the_window_is_forgotten(looked_every_s: float) -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    serve(monitor, 1000, 1000)
    now_s = 0.0
    while now_s < WINDOW_S + 2.0:
        now_s += looked_every_s
        monitor.roll(now_s)
    serve(monitor, 1000, 0)
    guarantee = monitor.guarantee(now_s + 1.0)
    assert (guarantee.queries, guarantee.violations) == (1000, 0)
    assert (monitor.queries, monitor.violations) == (2000, 1000)
