"""The controller: it watches, has plans made, and makes them true without losing a query."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan
from autoscaler.demand.demand import MovingMaximum
from autoscaler.planners.registry import planner_kind
from catalog.variant import Variant
from deployments.controller.loop_start import NO_PLAN, as_loop_counts, new_loop
from deployments.controller.plan_maker import Change, PlanMaker
from deployments.controller.plan_views import plan_view
from deployments.controller.planner_process import PlannerProcess
from deployments.controller.reports import Reports
from deployments.controller.rollout_runner import RolloutRunner
from deployments.controller.routing_tables import RoutingTables
from deployments.controller.state_keeper import StateKeeper
from deployments.controller.variants import variant_changes
from deployments.controller.worker_registry import WorkerRegistry
from deployments.forecasting.keeper import ForecastKeeper
from deployments.messages.control import RouterReport, RouterState, RoutingTable
from deployments.messages.control_settings import ControlSettings
from deployments.state.decisions import DecisionState
from deployments.state.learned_weights import Learned
from deployments.state.saved_state import ControllerState, next_epoch
from deployments.state.store import StateStore
from deployments.worker.client import WorkerClient

logger = logging.getLogger("ray.serve")

TICK_S, FAILED_PAUSE_S = 0.05, 5.0
MEET_S = 4.0
"""A new controller waits so long for the workers and routers of the one before."""

CATCH_UP_S = 15.0
"""So long a new controller waits, before its first plan, for routers to report what comes now."""

STUCK_S = 30.0


class Controller:
    """Closes the loop around one application; lives on one event loop.

    ``clients`` are the pools, ``publish_sizes`` tells Serve how many workers each shall have, ``wall_clock`` gives
    seconds since the epoch. All that it learns is in ``store``, from which the next controller goes on.
    """

    def __init__(
        self,
        settings: ControlSettings,
        clients: Mapping[str, WorkerClient],
        store: StateStore,
        publish_sizes: Callable[[Mapping[str, int]], None],
        wall_clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._clock = wall_clock
        self._began_s = wall_clock()
        self._known = ControllerState.for_settings(settings)
        self._known.restore(store, self._began_s)
        self._worker_registry = WorkerRegistry(clients, self._on_worker)
        self._routing_tables = RoutingTables(self._worker_registry, next_epoch(store), wall_clock)
        self._reports = Reports(self._known, wall_clock)
        self._planners = PlannerProcess() if planner_kind(settings.planner).solves else None
        self._maker = PlanMaker(settings, self._known, self._planners, publish_sizes)
        self._runner = RolloutRunner(self._worker_registry, self._routing_tables, self._known, self._maker, wall_clock)
        now = MovingMaximum(endpoints=settings.endpoints)
        self._forecasts: ForecastKeeper | None = None
        if settings.forecast is not None:
            self._forecasts = ForecastKeeper(settings, self._known, store, now, wall_clock, self._began_s)
        self._loop = new_loop(settings, self._known, now if self._forecasts is None else self._forecasts.demand)
        self._tasks: set[asyncio.Task[None]] = set()
        # Serve gives up on calls made in the context of a request when that ends, and this work is for everyone.
        self._context = contextvars.copy_context()
        self._met = asyncio.Event()
        self.refused: str | None = None
        """What is wrong with the config's changes, if anything."""
        self._state = StateKeeper(store, self._known, wall_clock)
        self._ended: BaseException | None = None
        self._beat_s = wall_clock()

    async def start(self) -> None:
        """Begin; returns at once."""
        await self._worker_registry.start()
        for work in (self._watch(), self._hand_over(), self._state.run()):
            self._spawn(work)
        if self._forecasts is not None:
            self._spawn(self._forecasts.run())

    # -- what routers say -------------------------------------------------------------------------------------

    def report(self, report: RouterReport) -> None:
        """A router's window is over."""
        self._routing_tables.on_router_state(report.router_state)
        self._reports.take(report)

    def stand(self, router_state: RouterState) -> None:
        """Workers came to a router or left it, or it follows another routing table."""
        self._routing_tables.on_router_state(router_state)

    def exchange_learned(self, router: str, learned: Learned) -> Learned:
        """See `LearnedWeights.exchange`."""
        return self._known.learned.exchange(router, learned)

    async def routing_table(self, router: str, newer_than: int, wait_s: float) -> RoutingTable | None:
        """The routing table in force once it is newer than that; None where none is within ``wait_s``."""
        return await self._routing_tables.next(router, newer_than, wait_s)

    def on_router_gone(self, router: str) -> None:
        """Serve says that a router is not there any more."""
        self._routing_tables.on_router_gone(router)
        self._reports.forget(router)

    # -- what people ask --------------------------------------------------------------------------------------

    def plan(self) -> dict[str, Any]:
        """The plan in force, how it came about, and what it rests on, in JSON values."""
        view = plan_view(self._settings, self._known, self._maker.sizes, self._worker_registry, self._clock())
        forecasts = {} if self._forecasts is None else self._forecasts.view()
        return view | {"refused_config": self.refused, "forecast": forecasts, "state": self._state.view()}

    def condition(self) -> dict[str, Any]:
        """How the controller is, in JSON values, for those who ask how everything is."""
        return {"answers": True, "state": self._state.view(), "refused_config": self.refused}

    def plans(self) -> list[dict[str, Any]]:
        """The decisions that are remembered, newest last."""
        return self._known.decisions.to_record()

    async def simulate(self, load_qps: Mapping[str, float]) -> dict[str, Any]:
        """What the planner would do under such loads, in JSON values; raises `BadRequest`."""
        return await self._maker.simulate(self._observation(), load_qps, self._clock())

    async def register(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Profile a variant on the least busy worker of every pool that may serve it, then plan with it.

        Raises `BadRequest` that says what is wrong with it, or `NoWorker`.
        """
        settings, plan = self._settings, self._loop.plan
        made = await variant_changes.register(described, settings, self._known, self._worker_registry, plan)
        await self._variants_changed(f"variant {made['variant']} was registered")
        return made

    async def unregister(self, variant: str) -> dict[str, Any]:
        """Plan without a registered variant: workers let go of it once queries go elsewhere. Raises `BadRequest`."""
        made = variant_changes.unregister(variant, self._known)
        await self._variants_changed(f"variant {variant} was unregistered")
        return made

    async def take_back(self, variant: str) -> dict[str, Any]:
        """Plan again with a variant that was unregistered; nothing happens for one that serves. Raises `BadRequest`."""
        if variant_changes.take_back(variant, self._known):
            await self._variants_changed(f"variant {variant} was taken back")
        return {"variant": variant}

    async def _variants_changed(self, reason: str) -> None:
        self._ask(reason)
        await self._state.save()  # a controller that begins after the answer knows it

    def variant(self, name: str) -> Variant | None:
        """The variant of that name which may serve, None where there is none."""
        return self._known.book.variant(name) if name in self._known.book.names else None

    def change(self, settings: ControlSettings) -> None:
        """Other objectives, queues or pool sizes from now on, with the same endpoints and pools."""
        if settings == self._settings:
            return
        self._settings = settings
        self._maker.change(settings)
        if self._forecasts is not None:
            self._forecasts.change(settings)
        self._ask("the config changed")

    def check(self) -> None:
        """Raise RuntimeError where the controller does not go round any more."""
        if self._state.begin_anew is not None:
            raise RuntimeError(f"the controller begins anew: {self._state.begin_anew}")
        if self._ended is not None:
            raise RuntimeError(f"a part of the controller ended: {self._ended!r}")
        if self._clock() - self._beat_s > STUCK_S:
            raise RuntimeError(f"the controller has not looked at its reports for {STUCK_S:.0f} s")

    # -- going round ------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        taken_over = await self._meet()
        reason = self._loop.ask("a controller took over" if taken_over else "the application starts")
        self._met.set()
        self._known.runs.keep(self._worker_registry.reports, self._clock())
        if taken_over:
            await self._catch_up()
        if self._forecasts is not None:
            self._beat_s = self._clock()
            await self._forecasts.catch_up()
        if reason is not None:
            self._spawn(self._roll_out(reason))
        while True:
            self._beat_s = self._clock()
            try:
                for router in self._routing_tables.silent():
                    self.on_router_gone(router)
                self._take_windows()
                if (again := self._known.unloadable.retry(self._clock())) is not None:
                    self._ask(again)
            except Exception:  # one bad report may not end all planning
                logger.exception("The controller could not take what routers reported.")
            await asyncio.sleep(TICK_S)

    def _take_windows(self) -> None:
        for statistics in self._reports.closed():
            counted = as_loop_counts(statistics, self._began_s, self._settings.endpoints)
            if (reason := self._loop.on_statistics(counted)) is not None:
                self._spawn(self._roll_out(reason))

    async def _meet(self) -> bool:
        """Wait for the workers that there are and their routers; gives whether there were any such.

        Routers are told nothing until then, so that none is passed over and no worker taken from it.
        """
        end_s = self._clock() + MEET_S
        while True:
            assigned = {report.router for report in self._worker_registry.reports.values() if report.router is not None}
            reporting = self._reports.routers
            met = self._worker_registry.known and reporting and assigned <= reporting
            if met or self._clock() > end_s:
                return bool(assigned & reporting)
            await asyncio.sleep(TICK_S)

    async def _catch_up(self) -> None:
        """Learn of the load before the first plan, or it would be for none: routers kept what they had to report."""
        end_s = self._clock() + CATCH_UP_S
        while self._clock() < end_s and not self._reports.caught_up():
            self._take_windows()
            await asyncio.sleep(TICK_S)
        self._take_windows()

    async def _hand_over(self) -> None:
        """Workers pass from router to router whenever they can."""
        await self._met.wait()
        while True:
            await self._routing_tables.settle()
            await asyncio.sleep(TICK_S)

    def _on_worker(self, worker: str, came: bool) -> None:
        self._known.runs.on_worker(worker, came, self._clock())
        if came:
            self._known.start_ups.on_worker(self._worker_registry.reports[worker].info.pool, self._clock())
        else:
            self._known.unloadable.on_gone(worker)
        self._ask(f"worker {worker} {'came' if came else 'is gone'}")

    def _ask(self, reason: str) -> None:
        if self._met.is_set() and (now := self._loop.ask(reason)) is not None:
            self._spawn(self._roll_out(now))

    async def _roll_out(self, reason: str) -> None:
        """From a reason to a plan that every router follows; whatever happens, the loop hears of the end."""
        asked_s = self._clock()
        decision = self._known.decisions.begin(reason, asked_s)
        made: ClusterPlan | NoPlan = NO_PLAN
        again: str | None = None
        change: Change | None = None
        try:
            change = await self._maker.make(self._observation(), decision, asked_s)
            if change is not None:
                await self._worker_registry.look()
                again = await self._runner.run(change, decision, asked_s)
                made = change.plan if again is None else NO_PLAN
        except Exception as error:
            logger.exception("A plan could not be made true; the one before stays.")
            decision.why_not = f"{type(error).__name__}: {error}"
            asyncio.get_running_loop().call_later(FAILED_PAUSE_S, self._ask, "the last plan could not be made true")
        if decision.under_way:
            decision.state = DecisionState.GIVEN_UP
        self._loop.on_plan(made)
        await self._state.save()
        if change is not None and made is change.plan:
            await self._runner.load_fallbacks(change, decision)
            again = await self._runner.why_again()
        if again is not None:
            self._ask(again)

    def _observation(self) -> Observation:
        workers = {worker: report.info for worker, report in self._worker_registry.reports.items()}
        return self._loop.observation(self._clock() - self._began_s, workers, self._worker_registry.loaded())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("A part of the controller ended: %r", error)
            self._ended = error
