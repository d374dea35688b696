"""What routers report becomes load, history and corrections; each report once, whenever it comes."""

import asyncio

from controller_parts import settings

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from deployments.controller.reports import GRACE_S, Reports
from deployments.controller.variant_book import VariantBook
from deployments.messages.control import WINDOW_S, RouterReport, RouterState
from deployments.state.load_history import HOUR_S
from deployments.state.saved_state import ControllerState
from virtual_time import EPOCH_S, in_virtual_time, wall_clock

NOW = int(EPOCH_S / WINDOW_S)
"""The window in which the controller begins."""


def report(router: str, window: int, arrived: int, violated: int = 0) -> RouterReport:
    counts = [0] * BIN_COUNT
    counts[bin_of(2.0)] = 100
    router_state = RouterState(router, 0, frozenset())
    return RouterReport(
        router_state, window, {"digits": arrived}, {"digits": violated}, {("cpu", "slow"): tuple(counts)}, {}
    )


def known() -> ControllerState:
    return ControllerState(VariantBook(settings()))


def in_history(of: ControllerState, second: int) -> int:
    [document] = of.history.take_documents().values()
    return document["digits"][second % HOUR_S]


def test_windows_are_the_sums_of_all_routers() -> None:
    async def scene() -> None:
        reports = Reports(known(), wall_clock)
        reports.take(report("r1", NOW, 3, 1))
        reports.take(report("r2", NOW, 4))
        assert reports.routers == {"r1", "r2"}
        assert reports.closed() == [Statistics(NOW * WINDOW_S, (NOW + 1) * WINDOW_S, {"digits": 7}, {"digits": 1})]
        reports.take(report("r1", NOW + 1, 5))
        assert reports.closed() == []
        reports.forget("r2")
        assert [each.arrived for each in reports.closed()] == [{"digits": 5}]
        assert reports.routers == {"r1"}

    in_virtual_time(scene)


def test_what_was_over_before_is_history_and_no_load() -> None:
    async def scene() -> None:
        learned = known()
        reports = Reports(learned, wall_clock)
        for window in range(NOW - 40, NOW + 1):
            reports.take(report("r1", window, 10))
        assert [each.arrived for each in reports.closed()] == [{"digits": 10}]
        assert in_history(learned, int(EPOCH_S) - 10) == 20
        assert learned.runs.evidence(("cpu", "slow"), wall_clock()) == 4100

    in_virtual_time(scene)


def test_what_is_reported_long_after_it_happened_is_history_and_no_burst() -> None:
    async def scene() -> None:
        of = known()
        reports = Reports(of, wall_clock)
        reports.take(report("r1", NOW, 10))
        await asyncio.sleep(10.0)
        for window in range(NOW + 1, NOW + 20):
            reports.take(report("r1", window, 10))
        given = [each for each in reports.closed() if each.arrived]
        assert max(each.arrived["digits"] for each in given) <= 30
        assert sum(each.arrived["digits"] for each in given) < 60, "of 200 that came within ten seconds"
        assert in_history(of, int(EPOCH_S) + 3) == 20

    in_virtual_time(scene)


def test_a_report_that_comes_twice_counts_once() -> None:
    async def scene() -> None:
        learned = known()
        reports = Reports(learned, wall_clock)
        for each in (report("r1", NOW, 10), report("r1", NOW, 10)):
            reports.take(each)
        assert [each.arrived for each in reports.closed()] == [{"digits": 10}]
        assert in_history(learned, int(EPOCH_S)) == 10
        assert learned.runs.evidence(("cpu", "slow"), wall_clock()) == 100

    in_virtual_time(scene)


def test_a_router_that_is_late_is_waited_for_no_longer_than_the_grace() -> None:
    async def scene() -> None:
        reports = Reports(known(), wall_clock)
        for router in ("r1", "r2"):
            reports.take(report(router, NOW, 1))
        assert len(reports.closed()) == 1
        reports.take(report("r1", NOW + 1, 1))
        await asyncio.sleep(2 * WINDOW_S + GRACE_S - 0.01)
        assert reports.closed() == []
        await asyncio.sleep(0.02)
        assert len(reports.closed()) == 1

    in_virtual_time(scene)
