"""The controller as a Serve deployment: created, watched and replaced by Serve."""

import asyncio
import contextvars
import functools
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from pydantic import ValidationError
from ray import serve
from ray.serve.handle import DeploymentHandle

from catalog.errors import ConfigError
from catalog.faults import describe
from deployments.controller.controller import Controller
from deployments.controller.plan_metrics import PlanMetrics
from deployments.controller.variants.vetting import vet
from deployments.epoch_clock import epoch_clock
from deployments.messages.control import RouterReport, RouterState, RoutingTable
from deployments.messages.control_settings import ControlSettings
from deployments.scaling import pool_sizes
from deployments.state.learned_weights import Learned
from deployments.state.opening import begun_on, open_or_wait, usual_state
from deployments.state.store import StateStore
from deployments.worker.client import WorkerClient
from serve_app.build.config_variants import ConfigVariants
from serve_app.build.control import changed
from serve_app.config.live_changes import LiveChanges

logger = logging.getLogger("ray.serve")

T = TypeVar("T")


class ControllerApp:
    """Around one `Controller`, on the event loop of its replica."""

    async def __init__(self, settings: ControlSettings, pools: dict[str, DeploymentHandle]) -> None:  # type: ignore[misc]
        application = serve.get_replica_context().app_name
        self._settings = settings
        state = settings.state or usual_state(application, settings.artifact_root)

        def begin(store: StateStore) -> Controller:
            return Controller(
                settings,
                {pool: WorkerClient(pool, handle) for pool, handle in pools.items()},
                store,
                functools.partial(pool_sizes.publish, application),
                epoch_clock(),
            )

        self._controller = begun_on(state, await asyncio.to_thread(open_or_wait, state), begin)
        self._working: set[asyncio.Task[Any]] = set()
        self._context = contextvars.copy_context()
        self._variants = ConfigVariants(self._controller, self._begin)
        await self._controller.start()
        exporting = PlanMetrics(self._controller.plan).run()
        self._exporting = asyncio.get_running_loop().create_task(exporting, context=self._context.copy())

    async def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Called by Serve with the deployment's ``user_config``, at the start and whenever it changes.

        It is empty where the file has none, so that all is as in ``args`` again once it is taken out.
        """
        try:
            changes = LiveChanges.model_validate(user_config)
            settings = changed(self._settings, changes)
        except (ValidationError, ConfigError) as error:
            # Raised, it would end the controller, and every one that Serve starts in its place.
            words = describe(error, LiveChanges) if isinstance(error, ValidationError) else str(error)
            logger.error("user_config of Controller is not right, and changes nothing: %s", words)
            self._controller.refused = words
            return
        self._controller.refused = None
        self._controller.change(settings)
        self._variants.follow(changes.variants)

    async def check_health(self) -> None:
        """Called by Serve, which replaces the replica when this raises."""
        self._controller.check()

    async def report(self, report: RouterReport) -> None:
        """See `Controller.report`."""
        self._controller.report(report)

    async def stand(self, router_state: RouterState) -> None:
        """See `Controller.stand`."""
        self._controller.stand(router_state)

    async def exchange_learned(self, router: str, learned: Learned) -> Learned:
        """See `Controller.exchange_learned`."""
        return self._controller.exchange_learned(router, learned)

    async def routing_table(self, router: str, newer_than: int, wait_s: float) -> RoutingTable | None:
        """See `Controller.routing_table`."""
        return await self._controller.routing_table(router, newer_than, wait_s)

    async def plan(self) -> dict[str, Any]:
        """See `Controller.plan`."""
        return self._controller.plan()

    async def condition(self) -> dict[str, Any]:
        """See `Controller.condition`."""
        return self._controller.condition()

    async def plans(self) -> list[dict[str, Any]]:
        """See `Controller.plans`."""
        return self._controller.plans()

    async def simulate(self, load_qps: dict[str, float]) -> dict[str, Any]:
        """See `Controller.simulate`."""
        return await self._controller.simulate(load_qps)

    async def register(self, variant: dict[str, Any]) -> dict[str, Any]:
        """See `Controller.register` and `vet`, for a client; goes on where the caller gives up waiting."""
        return await asyncio.shield(self._begin(self._vetted(variant)))

    async def _vetted(self, variant: dict[str, Any]) -> dict[str, Any]:
        await asyncio.to_thread(vet, variant, self._settings.artifact_root, self._settings.artifact_rules)
        return await self._controller.register(variant)

    async def unregister(self, variant: str) -> dict[str, Any]:
        """See `Controller.unregister`."""
        return await asyncio.shield(self._begin(self._controller.unregister(variant)))

    async def take_back(self, variant: str) -> dict[str, Any]:
        """See `Controller.take_back`."""
        return await asyncio.shield(self._begin(self._controller.take_back(variant)))

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Out of the context of the request at hand: Serve gives up on a request's calls when its client leaves."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task


as_controller = serve.deployment(
    name="Controller",
    user_config={},  # not None, for which Serve does not call `reconfigure`: what is taken out of the file is undone
    max_ongoing_requests=1000,
    health_check_period_s=1,
    health_check_timeout_s=10,
    graceful_shutdown_timeout_s=2,
    graceful_shutdown_wait_loop_s=0.2,
)
"""Makes a deployment of a `ControllerApp`, or of a class derived from it. One replica; Serve starts another when it
dies, which goes on from the saved state."""

ControllerDeployment = as_controller(ControllerApp)
