"""Routers tell each other what they have learned, through the controller, which keeps it."""

import asyncio
import logging

from catalog.errors import NoController
from deployments.controller.client import ControllerClient
from deployments.router.feedback.labels import Labels

logger = logging.getLogger("ray.serve")

EVERY_S = 5.0
"""So long a label takes at most to reach the other routers, twice."""


class LearnedExchange:
    """Runs beside the router ``name``, on its event loop; without a controller it goes on with its own."""

    def __init__(self, name: str, labels: Labels, controller: ControllerClient) -> None:
        self._name = name
        self._labels = labels
        self._controller = controller

    async def run(self) -> None:
        """Exchange until cancelled; what goes wrong is logged and tried again."""
        while True:
            try:
                self._labels.learn(await self._controller.exchange_learned(self._name, self._labels.learned()))
            except NoController:
                pass
            except Exception:
                logger.exception("What was learned from labels could not be exchanged; that is tried again.")
            await asyncio.sleep(EVERY_S)
