"""What routers report becomes load, history and corrections; each report once, whenever it comes."""

import asyncio
from dataclasses import replace

import pytest
from controller_parts import settings

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from autoscaler.placement.standing import Standing
from deployments.controller.reports import GRACE_S, LEAST_CLOCK_REPORTS, Reports
from deployments.controller.variants.variant_book import VariantBook
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
        router_state, window, {"digits": arrived}, {"digits": violated}, {("cpu", "slow", "w1"): tuple(counts)}, {}
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


def test_runs_beside_others_teach_the_place_where_they_ran_under_their_plan() -> None:
    async def scene() -> None:
        of = known()
        reports = Reports(of, wall_clock)
        standing = Standing("cpu", "n1", "m", "fast", (frozenset({"slow"}),), predicted=1.2, reckoned=1.2)
        of.stand(7, {("w1", "fast"): standing})
        counts = [0] * BIN_COUNT
        counts[bin_of(1.5)] = 5000
        window = int(wall_clock() / WINDOW_S)
        told = {("w1", "fast"): tuple(counts), ("w2", "fast"): tuple(counts)}
        for number, version in enumerate((6, 7)):
            made = report("r1", window + number, 0)
            reports.take(replace(made, worker_runs=told, plan_version=version))
        place, *others = of.slowdowns.known(wall_clock())[::-1]
        assert (place.machine, place.variant, place.beside) == ("m", "fast", ("slow",))
        assert place.batches == pytest.approx(5000, rel=0.01), "not those of another plan, nor of who stands elsewhere"
        assert place.factor == pytest.approx(1.5, rel=0.1)
        assert len(others) == 1
        assert of.runs.factor(("cpu", "fast"), wall_clock()) == 1.0, "which is no drift"

    in_virtual_time(scene)


def test_the_drift_of_a_variant_alone_is_no_slowdown_of_its_neighbours() -> None:
    async def scene() -> None:
        of = known()
        reports = Reports(of, wall_clock)
        standing = Standing("cpu", "n1", "m", "fast", (frozenset({"slow"}),), predicted=1.2, reckoned=1.2)
        of.stand(7, {("w1", "fast"): standing})
        counts = [0] * BIN_COUNT
        counts[bin_of(1.5)] = 5000
        made = report("r1", int(wall_clock() / WINDOW_S), 0)
        alone, beside = {("cpu", "fast", "w2"): tuple(counts)}, {("w1", "fast"): tuple(counts)}
        reports.take(replace(made, plan_version=7, runs=alone, worker_runs=beside))
        place = of.slowdowns.known(wall_clock())[-1]
        assert place.factor == pytest.approx(1.0, abs=0.1)

    in_virtual_time(scene)


def test_a_worker_that_is_slow_alone_is_not_slowed_by_its_neighbours() -> None:
    async def scene() -> None:
        of = known()
        reports = Reports(of, wall_clock)
        standing = Standing("cpu", "n1", "m", "fast", (frozenset({"slow"}),), predicted=1.2, reckoned=1.2)
        of.stand(7, {("hot", "fast"): standing})
        slow, well = [0] * BIN_COUNT, [0] * BIN_COUNT
        slow[bin_of(3.0)] = well[bin_of(1.0)] = 5000
        made = report("r1", int(wall_clock() / WINDOW_S), 0)
        alone = {("cpu", "fast", f"w{number}"): tuple(well) for number in range(5)}
        reports.take(replace(made, runs=alone | {("cpu", "fast", "hot"): tuple(slow)}))
        assert of.runs.factor(("cpu", "fast"), wall_clock()) < 1.4
        reports.take(replace(made, window=made.window + 1, plan_version=7, worker_runs={("hot", "fast"): tuple(slow)}))
        assert of.slowdowns.known(wall_clock())[-1].factor == pytest.approx(1.0, abs=0.1)

    in_virtual_time(scene)


def test_standings_of_the_last_plans_only_are_kept() -> None:
    of = known()
    for version in range(20):
        of.stand(version, {})
    assert max(of.standings) == 19
    assert len(of.standings) < 10


@pytest.mark.parametrize("behind_s", [-3600.0, -0.4, 0.0, 0.4, 3600.0])
def test_load_of_a_router_whose_clock_is_off_is_counted_where_it_belongs(behind_s: float) -> None:
    async def scene() -> None:
        learned = known()
        reports = Reports(learned, wall_clock)
        await asyncio.sleep(2 * WINDOW_S)
        for number in range(-LEAST_CLOCK_REPORTS, 5):
            await asyncio.sleep(WINDOW_S)
            own_s = wall_clock() - behind_s
            window = int(own_s / WINDOW_S + 1e-6) - 1
            late_s = 0.2 if number == 2 else 0.0  # on its way
            await asyncio.sleep(late_s)
            reports.take(replace(report("r1", window, 10 * max(number, 0)), sent_s=own_s))
            await asyncio.sleep(-late_s % WINDOW_S if late_s else 0.0)
        await asyncio.sleep(2.0)
        assert sum(each.arrived.get("digits", 0) for each in reports.closed()) == 100
        assert reports.caught_up()

    in_virtual_time(scene)


def test_a_first_router_whose_clock_is_ahead_hides_nobodys_load() -> None:
    async def scene() -> None:
        reports = Reports(known(), wall_clock)
        for _ in range(10):
            await asyncio.sleep(WINDOW_S)
            for router, ahead_s in (("r1", 600.0), ("r2", 0.0)):
                own_s = wall_clock() + ahead_s
                reports.take(replace(report(router, int(own_s / WINDOW_S + 1e-6) - 1, 10), sent_s=own_s))
        assert [each.arrived.get("digits", 0) for each in reports.closed()] == [20] * 10

    in_virtual_time(scene)


def test_reports_that_waited_for_the_controller_say_nothing_of_a_clock(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        reports = Reports(known(), wall_clock)
        for number in range(3):
            reports.take(replace(report("r1", NOW - 4 + number, 10), sent_s=wall_clock() - 2.0))
        for number in range(10):
            await asyncio.sleep(WINDOW_S)
            reports.take(replace(report("r1", NOW + number, 10), sent_s=wall_clock()))
        assert sum(each.arrived.get("digits", 0) for each in reports.closed()) == 100

    in_virtual_time(scene)
    assert "differ" not in caplog.text
