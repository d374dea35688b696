"""What routers report, as the controller learns from it."""

import logging
from collections import deque
from collections.abc import Callable

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.report_windows import ReportWindows
from deployments.messages.control import WINDOW_S, RouterReport
from deployments.state.saved_state import ControllerState

logger = logging.getLogger("ray.serve")

GRACE_S = 0.3
"""A window is waited for so long after its end."""

LATE_S = WINDOW_S + GRACE_S
"""What is reported so long after its end says nothing of the load now."""


CLOCKS_APART_S = 3600.0
"""What is so far from now is of a clock that is wrong, which its first reports do not tell."""

LEAST_CLOCK_REPORTS, CLOCK_REPORTS = 5, 20
"""A router's clock is compared by so many reports: the one that was on its way the shortest says how far it is off.
Fewer may all have waited for a controller that was to come; what comes from the future tells at once."""


class Reports:
    """Gathers reports into windows, and into what is known of profiles and load.

    Windows of a router whose clock is off by half a window or more are taken to be as much later or earlier.
    """

    def __init__(self, known: ControllerState, clock: Callable[[], float]) -> None:
        self._known = known
        self._clock = clock
        self._began_s = clock()
        self._windows = ReportWindows(WINDOW_S, GRACE_S)
        self._last: dict[str, int] = {}
        self._behind_s: dict[str, deque[float]] = {}
        self._shifts: dict[str, int] = {}
        """By router how many windows later its windows are by the controller's clock."""

    @property
    def routers(self) -> frozenset[str]:
        """Those that have reported."""
        return frozenset(self._last)

    def take(self, report: RouterReport) -> None:
        """A router's window is over, perhaps long ago: a router keeps what it cannot report.

        One that has come already, before its answer was lost, is not counted again. What was over before this
        controller began, or long ago, is history: all of it in the next window would look like a burst.
        """
        now_s = self._clock()
        router = report.router_state.router
        if report.window <= self._last.get(router, -1):
            return
        self._last[router] = report.window
        window = report.window + self._shift(router, report.sent_s, now_s)
        start_s, end_s = window * WINDOW_S, (window + 1) * WINDOW_S
        if abs(now_s - end_s) < CLOCKS_APART_S:
            self._known.history.add(Statistics(start_s, end_s, report.arrived, report.violated))
        if end_s > max(self._began_s, now_s - LATE_S):
            counted = (report.arrived, report.violated, report.stage_rows, report.refused, report.expired)
            self._windows.on_report(router, window, *counted)
        for (pool, variant, worker), counts in report.runs.items():
            self._known.runs.on_counts((pool, variant), worker, counts, now_s)
        for pool, counts in report.transport.items():
            self._known.transport.on_counts(pool, counts, now_s)
        standings = self._known.standings.get(report.plan_version, {})
        for (worker, variant), counts in report.worker_runs.items():
            if (standing := standings.get((worker, variant))) is not None:
                drift = self._known.runs.of_worker((standing.device, variant), worker, now_s)
                self._known.slowdowns.on_counts(standing, counts, drift, now_s)

    def caught_up(self) -> bool:
        """Whether every router that reports has come to what happened since this controller began."""
        since = (self._began_s / WINDOW_S) + 1
        return bool(self._last) and all(
            window + self._shifts.get(router, 0) >= since for router, window in self._last.items()
        )

    def forget(self, router: str) -> None:
        """It is not waited for any more."""
        for kept in (self._last, self._behind_s, self._shifts):
            kept.pop(router, None)
        self._windows.on_router_gone(router)

    def closed(self) -> list[Statistics]:
        """The windows that are complete by now, each once."""
        return self._windows.closed(self._clock())

    def _shift(self, router: str, sent_s: float | None, now_s: float) -> int:
        if sent_s is None:
            return 0
        behind_s = self._behind_s.setdefault(router, deque(maxlen=CLOCK_REPORTS))
        behind_s.append(now_s - sent_s)
        shift = round(min(behind_s) / WINDOW_S)
        if shift >= 0 and len(behind_s) < LEAST_CLOCK_REPORTS:
            return 0
        if shift != self._shifts.get(router, 0):
            logger.warning(
                "The clocks of router %s and the controller differ by %.1f s; its load is counted where it belongs all "
                "the same. Have the machines' clocks synchronised.",
                router,
                abs(min(behind_s)),
            )
        self._shifts[router] = shift
        return shift
