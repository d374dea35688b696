"""Keeps what a controller learns in its store, and bears that the store cannot be used for a while."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from catalog.errors import StateUnavailable
from deployments.state.decisions import iso
from deployments.state.opening import StateIsBack
from deployments.state.saved_state import ControllerState, prune, write_all
from deployments.state.store import StateStore

logger = logging.getLogger("ray.serve")

SAVE_EVERY_S = 5.0
PRUNE_AFTER_SAVES = 720


class StateKeeper:
    """Writes all that is ``known`` to a store now and then, in threads, one after the other.

    What could not be written is written the next time. ``clock`` gives seconds since the epoch.
    """

    def __init__(self, store: StateStore, known: ControllerState, clock: Callable[[], float]) -> None:
        self._store = store
        self._known = known
        self._clock = clock
        self._saving = asyncio.Lock()
        self._trouble: tuple[float, str] | None = None
        self.begin_anew: str | None = None
        """Why the controller has to begin anew, where it has to."""

    async def run(self) -> None:
        """Save, and let go of what is outdated, until cancelled."""
        while True:
            try:
                await asyncio.to_thread(prune, self._store, self._clock())
            except Exception as error:
                self._failed(error)
            for _ in range(PRUNE_AFTER_SAVES):
                await asyncio.sleep(SAVE_EVERY_S)
                await self.save()

    async def save(self) -> None:
        """Write everything; where that fails it is said, and tried again with the next save."""
        async with self._saving:  # or what was written last could be what was known first
            documents = self._known.documents(self._clock())
            try:
                await asyncio.to_thread(write_all, self._store, documents)
            except StateIsBack as back:
                self.begin_anew = str(back)
            except Exception as error:
                self._known.history.take_back(documents)
                self._failed(error)
            else:
                self._worked()

    def view(self) -> dict[str, Any]:
        """Whether the state is saved, in JSON values; where not, since when and why."""
        if self._trouble is None:
            return {"saved": True, "since": None, "why_not": None}
        since_s, why = self._trouble
        return {"saved": False, "since": iso(since_s), "why_not": why}

    def _failed(self, error: Exception) -> None:
        """Logged once, however often it is tried: the log may be on the disk that is full."""
        why = str(error) if isinstance(error, StateUnavailable) else f"{type(error).__name__}: {error}"
        if self._trouble is None:
            logger.error("The controller's state cannot be saved; it serves on and tries again: %s", why)
        self._trouble = (self._clock() if self._trouble is None else self._trouble[0], why)

    def _worked(self) -> None:
        if self._trouble is not None:
            logger.warning("The controller's state is saved again, after %.0f s.", self._clock() - self._trouble[0])
        self._trouble = None
