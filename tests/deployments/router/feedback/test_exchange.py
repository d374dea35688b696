"""What routers learn reaches the others, and nobody minds where the controller is away."""

import asyncio
from typing import Any, cast

import pytest

from catalog.errors import NoController
from deployments.controller.client import ControllerClient
from deployments.router.feedback.exchange import EVERY_S, LearnedExchange
from deployments.router.feedback.labels import Labels
from router_scene import virtually


class PlayedController:
    """Answers or raises, in turn; keeps what it was told."""

    def __init__(self, *outcomes: object) -> None:
        self.outcomes = list(outcomes)
        self.told: list[tuple[str, object]] = []

    async def exchange_learned(self, router: str, learned: object) -> object:
        self.told.append((router, learned))
        outcome = self.outcomes.pop(0) if self.outcomes else {}
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class CountingLabels:
    """Has learned a bit more at every look; keeps what it heard of others."""

    def __init__(self) -> None:
        self.looks = 0
        self.heard: list[object] = []

    def learned(self) -> object:
        self.looks += 1
        return self.looks

    def learn(self, others: object) -> None:
        self.heard.append(others)


async def exchanged(controller: PlayedController, rounds: int) -> CountingLabels:
    labels = CountingLabels()
    given: tuple[Any, Any] = (labels, controller)
    exchange = LearnedExchange("r1", cast(Labels, given[0]), cast(ControllerClient, given[1]))
    running = asyncio.create_task(exchange.run())
    await asyncio.sleep((rounds - 0.5) * EVERY_S)
    running.cancel()
    return labels


@virtually
async def test_each_round_tells_all_that_was_learned_and_hears_of_the_others() -> None:
    controller = PlayedController("one", "two", "three")
    labels = await exchanged(controller, 3)
    assert controller.told == [("r1", 1), ("r1", 2), ("r1", 3)]
    assert labels.heard == ["one", "two", "three"]


@virtually
async def test_without_a_controller_it_goes_on_and_tells_the_next_one() -> None:
    controller = PlayedController(NoController("away"), NoController("away"), "back")
    labels = await exchanged(controller, 3)
    assert labels.heard == ["back"]
    assert controller.told[-1] == ("r1", 3)


def test_what_goes_wrong_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    @virtually
    async def run() -> None:
        labels = await exchanged(PlayedController(TypeError("a message of another version"), "well"), 2)
        assert labels.heard == ["well"]

    run()
    assert "could not be exchanged; that is tried again" in caplog.text
