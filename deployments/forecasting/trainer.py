"""Trains the successors of the forecasters that serve, one at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from math import inf

from catalog.errors import StateUnavailable
from deployments.forecasting.archive import KeptModels, read_kept_models, write_kept_models
from deployments.forecasting.choice import length, task_of
from deployments.forecasting.training import LEAST_HISTORY_S, Trained, TrainingRecord, TrainingRequest
from deployments.forecasting.training_process import train_apart
from deployments.messages.control_settings import ControlSettings, ForecastSettings
from deployments.state.load_history import HOUR_S, hours_kept
from deployments.state.store import StateStore
from forecast.artifact import Model

logger = logging.getLogger("ray.serve")

CHECK_EVERY_S = 60.0
RETRY_S = 3600.0
"""So long after the last a training begins that is wanted at once: the last one failed, or was for something else."""

SETTLED_S = 5.0
"""Routers have reported what is as old as that."""


class ForecastTrainer:
    """Knows what became of every training, and when the next is due; lives on the controller's event loop.

    ``ahead_s`` says how far models must look ahead now, ``serving`` which model an endpoint has, and ``promote`` takes
    the content of one that was better.
    """

    def __init__(
        self,
        settings: ControlSettings,
        store: StateStore,
        clock: Callable[[], float],
        ahead_s: Callable[[], int],
        serving: Callable[[str], Model | None],
        promote: Callable[[str, bytes], Awaitable[None]],
    ) -> None:
        assert settings.forecast is not None
        self._forecast: ForecastSettings = settings.forecast
        self._store = store
        self._clock = clock
        self._ahead_s = ahead_s
        self._serving = serving
        self._promote = promote
        self._kept_models = dict.fromkeys(settings.endpoints, KeptModels())
        self._hours_kept = 0
        self._at_work: str | None = None
        self._unsaved: set[str] = set()
        """Endpoints whose last training is not in the store yet."""
        self._unread: set[str] = set()
        """Endpoints of which the store could not be read: it is, before anything is written over."""

    async def restore(self) -> dict[str, bytes]:
        """Take up what another controller left; gives the models that it promoted, by endpoint."""
        for name in self._kept_models:
            try:
                self._kept_models[name] = await asyncio.to_thread(read_kept_models, self._store, name)
            except StateUnavailable as error:
                logger.error("Endpoint %s: its forecaster cannot be read just now: %s", name, error)
                self._unread.add(name)
        try:
            await self._count_hours()
        except StateUnavailable as error:
            logger.error("The load that is kept cannot be counted just now: %s", error)
        return {
            name: kept_models.promoted
            for name, kept_models in self._kept_models.items()
            if kept_models.promoted is not None
        }

    def newest(self, endpoint: str) -> TrainingRecord | None:
        """What became of the last training."""
        return self._kept_models[endpoint].newest

    def why_no_model(self, endpoint: str) -> str:
        """For people, where there is none."""
        last = self.newest(endpoint)
        if self._at_work == endpoint:
            return "a model is being trained"
        if last is not None:
            return f"no model was promoted yet: {last.why}"
        if self._forecast.retrain_every_s is None:
            return "there is no model, and retrain_every_s is null; name one under artifacts"
        if self._known_s < LEAST_HISTORY_S:
            return (
                f"no model was trained yet: {self._hours_kept} h of history, {LEAST_HISTORY_S // HOUR_S} h are needed"
            )
        return "no model was trained yet: the first training begins within a minute"

    async def run(self) -> None:
        """Train what is due, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._save()
                await self._read_again()
                await self._count_hours()
                for name in self._kept_models:
                    if self._due(name):
                        await self._train(name)
            except Exception:
                logger.exception("The forecasters could not be trained; those that serve go on.")

    # -- inner steps ------------------------------------------------------------------------------------------

    async def _read_again(self) -> None:
        """What could not be read when this controller began, and was not trained anew since."""
        for endpoint in sorted(self._unread - self._unsaved):
            with suppress(StateUnavailable):
                await self._take_up(endpoint)

    async def _take_up(self, endpoint: str) -> None:
        """What another controller left goes before what was learned since; its model serves where there is none yet."""
        before = await asyncio.to_thread(read_kept_models, self._store, endpoint)
        self._kept_models[endpoint] = kept = self._kept_models[endpoint].behind(before)
        self._unread.discard(endpoint)
        if before.promoted is not None and kept.promoted is before.promoted:
            await self._promote(endpoint, before.promoted)

    @property
    def _known_s(self) -> float:
        return self._hours_kept * HOUR_S

    async def _count_hours(self) -> None:
        if any(kept_models.newest is None for kept_models in self._kept_models.values()):
            from_s = self._clock() - self._forecast.history_s
            self._hours_kept = await asyncio.to_thread(hours_kept, self._store, from_s)

    def _due(self, endpoint: str) -> bool:
        every_s, last = self._forecast.retrain_every_s, self.newest(endpoint)
        if every_s is None:
            return False
        if last is None:
            return self._known_s >= LEAST_HISTORY_S
        other = last.failed or last.horizon_s < self._ahead_s() or last.model != self._forecast.model
        return self._clock() - last.at_s >= (min(every_s, RETRY_S) if other else every_s)

    async def _train(self, endpoint: str) -> None:
        begun_s = self._clock()
        request = TrainingRequest(
            endpoint,
            self._forecast.model,
            task_of(self._ahead_s()),
            begun_s - SETTLED_S - self._forecast.history_s,
            begun_s - SETTLED_S,
            await self._rival(endpoint, begun_s),
        )
        self._at_work = endpoint
        try:
            trained = await train_apart(self._store, request)
        except Exception as error:  # whatever a training raises, the next may do better
            logger.warning("Endpoint %s: forecaster %s was not trained: %s", endpoint, request.model, error)
            why = str(error) or repr(error)
            trained = Trained(TrainingRecord(begun_s, request.model, request.task.horizon_s, False, why), None)
        finally:
            self._at_work = None
        record = replace(trained.record, at_s=begun_s, took_s=round(self._clock() - begun_s, 1))
        self._kept_models[endpoint] = self._kept_models[endpoint].after(record, trained.model)
        if not record.failed:
            logger.info(
                "Endpoint %s, forecaster %s: %s (%s).", endpoint, record.model, record.why, length(record.took_s)
            )
        if trained.model is not None:
            await self._promote(endpoint, trained.model)
        self._unsaved.add(endpoint)
        await self._save()

    async def _save(self) -> None:
        """Write what is not written yet; a store that cannot be used is tried again within a minute."""
        for endpoint in list(self._unsaved):
            try:
                if endpoint in self._unread:
                    await self._take_up(endpoint)
                await asyncio.to_thread(write_kept_models, self._store, endpoint, self._kept_models[endpoint])
                self._unsaved.discard(endpoint)
            except Exception as error:
                logger.error("Endpoint %s: its forecaster could not be saved, and is tried again: %s", endpoint, error)

    async def _rival(self, endpoint: str, now_s: float) -> bytes | None:
        """The model to beat: one that will be too old before the next training has served its time."""
        model = self._serving(endpoint)
        next_s = now_s + (self._forecast.retrain_every_s or inf)
        if model is None or next_s - model.card.trained_until_s > self._forecast.max_age_s:
            return None
        return await asyncio.to_thread(model.to_bytes)
