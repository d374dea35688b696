"""Reports of several routers as one, by hand and against sums over random histories."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.report_windows import ReportWindows
from autoscaler_scene import SEEDS
from dispatch.query import StageKey


def windows() -> ReportWindows:
    return ReportWindows(0.5, 1.0)


def test_a_window_is_given_out_once_when_every_known_router_has_reported_it() -> None:
    seen = windows()
    for router in ("r1", "r2"):
        seen.on_report(router, 10, {}, {})
    assert len(seen.closed(5.5)) == 1
    seen.on_report("r1", 11, {"a": 3, "b": 1}, {"a": 2})
    assert seen.closed(6.0) == []
    seen.on_report("r2", 11, {"a": 4}, {"b": 1})
    assert seen.closed(6.0) == [Statistics(5.5, 6.0, {"a": 7, "b": 1}, {"a": 2, "b": 1})]
    assert seen.closed(6.0) == []


def test_a_silent_router_is_waited_for_no_longer_than_the_grace() -> None:
    seen = windows()
    for router in ("r1", "r2"):
        seen.on_report(router, 0, {}, {})
    seen.on_report("r1", 1, {"a": 3}, {})
    assert len(seen.closed(2.0)) == 1
    assert seen.closed(2.01) == [Statistics(0.5, 1.0, {"a": 3}, {})]


def test_what_comes_too_late_counts_in_the_next_window() -> None:
    seen = windows()
    for router in ("r1", "r2"):
        seen.on_report(router, 0, {}, {})
    seen.on_report("r1", 1, {"a": 3}, {})
    seen.closed(2.01)
    seen.on_report("r2", 1, {"a": 5, "b": 1}, {"a": 4})
    seen.on_report("r1", 2, {"a": 1}, {})
    assert seen.closed(2.01) == []
    seen.on_report("r2", 2, {"a": 1}, {})
    assert seen.closed(2.01) == [Statistics(1.0, 1.5, {"a": 7, "b": 1}, {"a": 4})]


def test_a_window_that_nobody_reported_is_empty() -> None:
    seen = windows()
    seen.on_report("r1", 0, {"a": 1}, {})
    seen.on_report("r1", 2, {"a": 2}, {})
    assert [each.arrived for each in seen.closed(2.01)] == [{"a": 1}, {}, {"a": 2}]


def test_a_new_router_is_waited_for_from_its_first_window_on() -> None:
    seen = windows()
    seen.on_report("r1", 0, {"a": 1}, {})
    seen.on_report("r2", 2, {"a": 10}, {})
    seen.on_report("r1", 1, {"a": 1}, {})
    assert [each.arrived for each in seen.closed(0.0)] == [{"a": 1}, {"a": 1}]
    seen.on_report("r1", 2, {"a": 1}, {})
    seen.on_report("r1", 3, {"a": 1}, {})
    assert [each.arrived for each in seen.closed(0.0)] == [{"a": 11}]


def test_a_router_that_is_gone_is_not_waited_for_and_its_reports_count() -> None:
    seen = windows()
    for router in ("r1", "r2"):
        seen.on_report(router, 0, {}, {})
    seen.closed(0.5)
    seen.on_report("r1", 1, {"a": 1}, {})
    seen.on_report("r2", 2, {"a": 5}, {})
    seen.on_router_gone("r2")
    assert [each.arrived for each in seen.closed(0.0)] == [{"a": 1}]
    seen.on_report("r1", 2, {"a": 1}, {})
    assert [each.arrived for each in seen.closed(0.0)] == [{"a": 6}]


def test_without_routers_nothing_is_given_out_and_the_next_one_begins_where_it_is() -> None:
    seen = windows()
    assert seen.closed(1e9) == []
    seen.on_report("r1", 4, {"a": 1}, {})
    seen.closed(2.5)
    seen.on_report("r1", 5, {"a": 2}, {"a": 2})
    seen.on_router_gone("r1")
    seen.on_router_gone("never there")
    assert seen.closed(1e9) == []
    seen.on_report("r2", 9000, {"a": 4}, {})
    assert seen.closed(0.0) == [Statistics(4500.0, 4500.5, {"a": 6}, {"a": 2})]


@settings(max_examples=150, derandomize=True, deadline=None)
@given(SEEDS)
def test_windows_come_in_order_without_gaps_and_every_count_is_in_one_of_them(rng: np.random.Generator) -> None:
    seen = ReportWindows(0.5, float(rng.uniform(0.0, 2.0)))
    reported: Counter[str] = Counter()
    found = []
    for step in range(60):
        now_s = 0.25 * step
        router = f"r{rng.integers(1, 4)}"
        if rng.random() < 0.1:
            seen.on_router_gone(router)
        elif rng.random() < 0.7:
            counts = {name: int(rng.integers(0, 9)) for name in ("a", "b") if rng.random() < 0.8}
            reported.update(counts)
            seen.on_report(router, max(int(now_s / 0.5) - int(rng.integers(0, 5)), 0), counts, counts)
        found += seen.closed(now_s)
    seen.on_report("r1", 30, {"a": 1}, {"a": 1})
    reported["a"] += 1
    found += seen.closed(1000.0)
    assert [each.start_s for each in found] == sorted({each.start_s for each in found})
    assert all(each.end_s == each.start_s + 0.5 for each in found)
    assert {name: sum(each.arrived.get(name, 0) for each in found) for name in reported} == reported
    assert all(each.violated == each.arrived for each in found)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(SEEDS)
def test_with_routers_that_stay_and_report_in_order_it_is_the_sum_of_each_window(rng: np.random.Generator) -> None:
    counts = {(f"r{r}", n): int(rng.integers(0, 9)) for r in range(3) for n in range(8)}
    seen, found = ReportWindows(0.5, 100.0), []
    for router in range(3):
        seen.on_report(f"r{router}", 0, {"a": counts[f"r{router}", 0]}, {})
    at = dict.fromkeys((f"r{r}" for r in range(3)), 1)
    while left := [router for router, n in at.items() if n < 8]:
        router = str(rng.choice(left))
        seen.on_report(router, at[router], {"a": counts[router, at[router]]}, {})
        at[router] += 1
        found += seen.closed(0.0)
    sums = [sum(counts[f"r{router}", n] for router in range(3)) for n in range(8)]
    assert [each.arrived["a"] for each in found] == sums
    assert [each.start_s for each in found] == pytest.approx([0.5 * n for n in range(8)])


def test_rows_by_stage_are_summed_over_routers() -> None:
    seen = ReportWindows(1.0, 5.0)
    seen.on_report("r1", 0, {"e": 2}, {}, {StageKey("e", "a"): 2, StageKey("e", "b"): 1})
    seen.on_report("r2", 0, {"e": 1}, {}, {StageKey("e", "a"): 1, StageKey("f", "a"): 4})
    (statistics,) = seen.closed(1.0)
    assert statistics.stage_rows == {"e": {"a": 3, "b": 1}, "f": {"a": 4}}


def test_refused_and_expired_queries_are_summed_over_routers() -> None:
    seen = windows()
    seen.on_report("r1", 10, {"a": 5}, {"a": 5}, refused={"a": 2})
    seen.on_report("r2", 10, {"a": 5}, {}, refused={"a": 1, "b": 4}, expired={"b": 2})
    (window,) = seen.closed(5.5)
    assert window.refused == {"a": 3, "b": 4}
    assert window.expired == {"b": 2}
