"""Keeps a forecaster at work for every endpoint, and says who serves and why."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from autoscaler.demand.demand import DemandEstimate
from autoscaler.demand.forecast_demand import ForecastDemand
from autoscaler.demand.recent_load import RecentLoad
from catalog.errors import ArtifactError
from deployments.forecasting.archive import fetched, opened
from deployments.forecasting.choice import KEPT_S, ForecasterChoice, choose, horizon_s, task_of
from deployments.forecasting.trainer import ForecastTrainer
from deployments.forecasting.training import in_one_thread
from deployments.forecasting.views import choice_view, training_view
from deployments.messages.control_settings import ControlSettings, ForecastSettings
from deployments.state.load_history import kept_series
from deployments.state.saved_state import ControllerState
from deployments.state.store import StateStore
from forecast.artifact import Model
from forecast.registry import make
from forecast.series.series import LoadSeries

logger = logging.getLogger("ray.serve")

LOOK_EVERY_S = 10.0
FETCH_EVERY_S = 60.0
"""Models that the config names and that cannot be fetched are tried again as often."""

READY_S = 10.0
"""A new controller waits so long, before its first plan, for its forecasters."""


class ForecastKeeper:
    """Lives on the controller's event loop; what takes time is done in threads and in another process.

    ``demand`` is what the control loop plans for: what ``now`` says, and what is forecast. The loop counts from
    ``began_s``.
    """

    def __init__(
        self,
        settings: ControlSettings,
        known: ControllerState,
        store: StateStore,
        now: DemandEstimate,
        clock: Callable[[], float],
        began_s: float,
    ) -> None:
        self._settings = settings
        self._known = known
        self._store = store
        self._clock = clock
        self._recent = RecentLoad(KEPT_S, began_s)
        self._counts_from_s = int(began_s)
        """The seconds from then on are reported to the loop."""
        self.demand = ForecastDemand(now, self._recent, self._forecast.quantile)
        self._trainer = ForecastTrainer(
            settings, store, clock, self._ahead_s, lambda name: self._choice_of(name).model, self._on_promoted
        )
        self._ready = asyncio.Event()
        self._promoted: dict[str, Model] = {}
        self._given: dict[str, Model] = {}
        self._unreadable: dict[str, str] = {}
        self._choices: dict[str, ForecasterChoice] = {}
        """Of endpoints for which there is a model."""
        self._told: dict[str, tuple[str, int] | None] = {}

    async def run(self) -> None:
        """Begin, then look after the forecasters until cancelled."""
        try:
            await self._begin()
        except Exception:
            logger.exception("Not all that was known of the load and its forecasters could be taken up.")
        tasks = (asyncio.create_task(self._trainer.run()), asyncio.create_task(self._fetch_missing()))
        try:
            while True:
                try:
                    self._look()
                except Exception:
                    logger.exception("The forecasters could not be looked after; they stay as they are.")
                self._ready.set()
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            for task in tasks:
                task.cancel()

    async def catch_up(self) -> None:
        """Wait for the forecasters, `READY_S` at most, and learn of what routers reported late."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ready.wait(), READY_S)
        self._remember(self._known.history.series(self._counts_from_s))

    def change(self, settings: ControlSettings) -> None:
        """Other settings from now on, with the same endpoints and pools; of the forecasts, another quantile."""
        self._settings = settings
        self._use()
        self._look()

    def view(self) -> dict[str, Any]:
        """Who forecasts for each endpoint, and what became of the last training, in JSON values."""
        return {
            name: {
                **choice_view(self._choice_of(name), self._ahead_s(), self.demand.forecast_qps.get(name)),
                "quantile": self._forecast.quantile,
                "training": training_view(self._trainer.newest(name)),
            }
            for name in self._settings.endpoints
        }

    # -- beginning --------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        """Take up the load of the last day, what was promoted, and what the config names."""
        until_s = self._counts_from_s
        self._remember(await asyncio.to_thread(kept_series, self._store, until_s - KEPT_S, until_s))
        await asyncio.to_thread(self._import)
        for name, content in (await self._trainer.restore()).items():
            if (model := await self._opened(name, f"kept for {name}", content)) is not None:
                self._promoted[name] = model
        await self._fetch_given()

    async def _fetch_given(self) -> None:
        """Take up the models that the config names, but for those that are here."""
        for name, uri in self._forecast.artifacts.items():
            if name not in self._given and (model := await self._opened(name, uri)) is not None:
                self._given[name] = model
                self._unreadable.pop(name, None)

    async def _fetch_missing(self) -> None:
        """Try again, until cancelled, what could not be fetched."""
        while True:
            await asyncio.sleep(FETCH_EVERY_S)
            try:
                await self._fetch_given()
            except Exception:
                logger.exception("The models that the config names could not be fetched; they are tried again.")

    def _import(self) -> None:
        """Networks are imported for seconds: not when the first of them is promoted, in the middle of the day."""
        make(self._forecast.model, task_of(self._ahead_s()))
        in_one_thread()

    def _remember(self, series: Mapping[str, LoadSeries]) -> None:
        for name in self._settings.endpoints:
            if name in series:
                self._recent.add(name, series[name])

    async def _opened(self, endpoint: str, where: str, content: bytes | None = None) -> Model | None:
        """The model of this content, or of that file or URL; None where it cannot be had."""
        try:
            if content is None:
                return await asyncio.to_thread(fetched, where)
            return await asyncio.to_thread(opened, content, where)
        except ArtifactError as error:
            if self._unreadable.get(endpoint) != str(error):
                logger.error("Endpoint %s: %s", endpoint, error)
            self._unreadable[endpoint] = str(error)
            return None

    async def _on_promoted(self, endpoint: str, content: bytes) -> None:
        if (model := await self._opened(endpoint, f"trained for {endpoint}", content)) is not None:
            self._promoted[endpoint] = model
            self._unreadable.pop(endpoint, None)
        self._look()

    # -- who serves -------------------------------------------------------------------------------------------

    @property
    def _forecast(self) -> ForecastSettings:
        assert self._settings.forecast is not None
        return self._settings.forecast

    def _ahead_s(self) -> int:
        return horizon_s(self._settings, self._forecast, self._known.start_ups)

    def _look(self) -> None:
        """Have those forecast that may, and say where that changed."""
        now_s, ahead_s, before = self._clock(), self._ahead_s(), self._serving()
        for name in self._settings.endpoints:
            if models := [models[name] for models in (self._promoted, self._given) if name in models]:
                self._choices[name] = choose(models, ahead_s, self._forecast.max_age_s, now_s)
        if self._serving() != before:
            self._use()
        for name in self._settings.endpoints:
            self._tell(name)

    def _serving(self) -> dict[str, Model]:
        return {name: each.model for name, each in self._choices.items() if each.model is not None}

    def _use(self) -> None:
        forecasters = {name: model.forecaster for name, model in self._serving().items()}
        self.demand.use(forecasters, self._forecast.quantile)

    def _choice_of(self, endpoint: str) -> ForecasterChoice:
        """As it is, whoever was chosen: a forecaster that failed is not asked any more."""
        choice = self._choices.get(endpoint)
        if choice is None:
            return ForecasterChoice(None, self._unreadable.get(endpoint) or self._trainer.why_no_model(endpoint))
        failed = self.demand.failed.get(endpoint)
        if choice.model is None or failed is None:
            return choice
        return ForecasterChoice(None, f"model {choice.model.card.name} failed: {failed}")

    def _tell(self, endpoint: str) -> None:
        """Log who forecasts where that is another one; of reasons, the first."""
        choice = self._choice_of(endpoint)
        card = None if choice.model is None else choice.model.card
        told = None if card is None else (card.name, card.trained_until_s)
        if endpoint in self._told and self._told[endpoint] == told:
            return
        self._told[endpoint] = told
        if card is None:
            logger.warning("Endpoint %s: plans are made for the load that it has, %s.", endpoint, choice.why)
        else:
            logger.info(
                "Endpoint %s: model %s forecasts the load of the next %d s.", endpoint, card.name, card.task.horizon_s
            )
