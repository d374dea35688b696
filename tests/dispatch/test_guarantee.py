"""Promised against observed: when an excess of violations is one, and when it is over."""

from itertools import count

import numpy as np
import pytest
from scipy.stats import binom

from dispatch.guarantee import FALSE_ALARM, WINDOW_S, WINDOWS_IN_A_ROW, GuaranteeEvent, GuaranteeMonitor
from dispatch.selection.ramsis.table import DecisionTable


def table(accuracy: float, violation_rate: float) -> DecisionTable:
    nothing = np.zeros((1, 1, 1), dtype=np.uint8)
    return DecisionTable(("v",), 0.1, 50.0, 1, 1, np.zeros(1), nothing, nothing + 1, accuracy, violation_rate)


PROMISED = table(0.9, 0.02)


def window(
    monitor: GuaranteeMonitor, late: int, queries: int = 1000, promised: DecisionTable | None = PROMISED
) -> None:
    """Batches of one, of which ``late`` are late."""
    monitor.on_launch(queries, promised)
    monitor.on_served(queries - late, 0, 0.95)
    for _ in range(late):
        monitor.on_served(0, 1, 0.95)


def roll_on(monitor: GuaranteeMonitor, lates: list[int], **kwargs: int) -> list[GuaranteeEvent]:
    events = []
    for late, number in zip(lates, count(1), strict=False):
        window(monitor, late, **kwargs)
        event = monitor.roll(number * WINDOW_S)
        if event is not None:
            events.append(event)
    return events


def test_a_lasting_excess_is_one_event_when_it_is_sure_and_one_when_it_is_over() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    began, ended = roll_on(monitor, [20, 50, 50, 50, 50, 50, 50, 20, 20, 20, 20])
    assert (began.endpoint, began.broken, began.queries) == ("digits", True, 3000)
    assert began.observed_violation_rate == pytest.approx(0.05)
    assert began.expected_violation_rate == pytest.approx(0.02)
    assert ended.broken is False
    assert monitor.events == 1


def test_an_excess_that_does_not_last_is_no_event() -> None:
    assert roll_on(GuaranteeMonitor("digits", 0.0), [50, 50, 20, 50, 50, 20, 50]) == []


def test_a_window_counts_as_above_the_bound_from_the_binomial_quantile_on() -> None:
    quantile = int(binom.isf(FALSE_ALARM, 1000, 0.02))
    at = GuaranteeMonitor("digits", 0.0)
    assert roll_on(at, [quantile] * WINDOWS_IN_A_ROW) == []
    above = GuaranteeMonitor("digits", 0.0)
    assert len(roll_on(above, [quantile + 1] * WINDOWS_IN_A_ROW)) == 1


def test_chance_alone_raises_no_event_in_a_thousand_windows() -> None:
    lates = np.random.default_rng(0).binomial(1000, 0.02, size=1000).tolist()
    assert roll_on(GuaranteeMonitor("digits", 0.0), lates) == []


def test_queries_that_are_late_together_count_as_one_draw() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    for number in range(1, 8):
        monitor.on_launch(1000, PROMISED)
        monitor.on_served(950, 0, 0.95)
        monitor.on_served(0, 25, 0.95)
        monitor.on_served(0, 25, 0.95)
        assert monitor.roll(number * WINDOW_S) is None


def test_windows_without_queries_neither_begin_nor_end_an_event() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    assert len(roll_on(monitor, [100, 100, 100])) == 1
    for number in range(4, 20):
        assert monitor.roll(number * WINDOW_S) is None
    assert monitor.guarantee().broken


def test_without_a_promise_there_is_nothing_to_break() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    for number in range(1, 8):
        window(monitor, 900, promised=None)
        assert monitor.roll(number * WINDOW_S) is None
    guarantee = monitor.guarantee()
    assert guarantee.expected_accuracy is None
    assert guarantee.observed_violation_rate == pytest.approx(0.9)


def test_a_rare_hiccup_under_a_promise_of_next_to_none_is_no_excess() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    for number in range(1, 8):
        window(monitor, 1, promised=table(0.9, 1e-12))
        assert monitor.roll(number * WINDOW_S) is None


def test_bounds_are_weighted_by_the_queries_decided_under_them_and_refusals_are_violations() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    monitor.on_launch(30, table(0.9, 0.01))
    monitor.on_launch(10, table(0.7, 0.05))
    monitor.on_served(30, 0, 0.95)
    monitor.on_served(6, 2, 0.75)
    monitor.on_refused()
    monitor.on_refused()
    guarantee = monitor.guarantee()
    assert guarantee.expected_accuracy == pytest.approx(0.85)
    assert guarantee.expected_violation_rate == pytest.approx(0.02)
    assert guarantee.observed_accuracy == pytest.approx((30 * 0.95 + 6 * 0.75) / 36)
    assert guarantee.observed_violation_rate == pytest.approx(0.1)
    assert (guarantee.queries, guarantee.violations) == (40, 4)


def test_the_last_minute_counts_and_what_was_before_is_forgotten() -> None:
    monitor = GuaranteeMonitor("digits", 0.0)
    roll_on(monitor, [1000, *[0] * 7])
    assert monitor.guarantee().violations == 0
    assert (monitor.queries, monitor.violations) == (8000, 1000)
