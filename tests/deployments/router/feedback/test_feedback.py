"""Labels for answers of this router and of others."""

import asyncio
from typing import Any, cast

import pytest

from catalog.errors import BadRequest
from deployments.router.feedback.feedback import AT_ONCE, Feedback
from deployments.router.feedback.labels import Label, Labels
from deployments.router.peers import Peers
from deployments.router.router import Router
from dispatch.ensemble.ground_truth import Told


class SaidLabels:
    """Labels that are told what this router knows; keeps when."""

    def __init__(self, **known: Told) -> None:
        self.known = known
        self.at_s: list[float] = []

    def check(self, endpoint: str, labels: list[Label]) -> None:
        assert not self.at_s, "all labels, before any counts"

    def tell(self, endpoint: str, labels: list[Label], now_s: float) -> list[Told]:
        assert endpoint == "digits"
        self.at_s.append(now_s)
        return [self.known.get(request_id, Told.UNKNOWN) for request_id, _ in labels]


class SaidPeers:
    """Other routers, each with what it knows; keeps what they were shown."""

    def __init__(self, *routers: dict[str, Told], raises: Exception | None = None) -> None:
        self.routers = routers
        self.raises = raises
        self.shown: list[list[Label]] = []

    async def feedback(self, endpoint: str, labels: list[Label], routing: object) -> list[list[Told]]:
        assert (endpoint, routing) == ("digits", "the table in force")
        self.shown.append(labels)
        if self.raises is not None:
            raise self.raises
        return [[known.get(request_id, Told.UNKNOWN) for request_id, _ in labels] for known in self.routers]


class Routed:
    routing = "the table in force"


def feedback(labels: SaidLabels, peers: SaidPeers) -> Feedback:
    given: tuple[Any, Any, Any] = (Routed(), labels, peers)
    return Feedback(cast(Router, given[0]), cast(Labels, given[1]), cast(Peers, given[2]), lambda: 7.0)


async def told(feedback: Feedback, *ids: str) -> list[Told]:
    return await feedback.tell("digits", [(request_id, (1,)) for request_id in ids])


async def test_what_is_known_here_is_shown_to_nobody() -> None:
    here, peers = SaidLabels(x=Told.MATCHED, y=Told.DUPLICATE), SaidPeers()
    assert await told(feedback(here, peers), "x", "y") == [Told.MATCHED, Told.DUPLICATE]
    assert peers.shown == []
    assert here.at_s == [7.0]


async def test_labels_for_answers_of_other_routers_find_them() -> None:
    here = SaidLabels(mine=Told.MATCHED, late=Told.EXPIRED)
    peers = SaidPeers({"theirs": Told.MATCHED}, {"again": Told.DUPLICATE, "old": Told.EXPIRED})
    found = await told(feedback(here, peers), "theirs", "mine", "again", "late", "old", "never")
    expected = [Told.MATCHED, Told.MATCHED, Told.DUPLICATE, Told.EXPIRED, Told.EXPIRED, Told.UNKNOWN]
    assert found == expected
    assert peers.shown == [[(name, (1,)) for name in ("theirs", "again", "late", "old", "never")]]


@pytest.mark.parametrize("order", [1, -1])
async def test_of_several_words_the_one_that_says_most_counts(order: int) -> None:
    """Serve sends a call for a router that is gone to any other, which then hears a label twice."""
    peers = SaidPeers(*[{"x": Told.MATCHED, "y": Told.EXPIRED}, {"x": Told.DUPLICATE}][::order])
    assert await told(feedback(SaidLabels(), peers), "x", "y") == [Told.MATCHED, Told.EXPIRED]


async def test_without_other_routers_an_id_stays_unknown() -> None:
    assert await told(feedback(SaidLabels(), SaidPeers()), "x") == [Told.UNKNOWN]


async def test_what_another_router_refuses_is_refused() -> None:
    peers = SaidPeers(raises=BadRequest("feedback for id 'x': 1 labels for 2 rows"))
    with pytest.raises(BadRequest, match="1 labels for 2 rows"):
        await told(feedback(SaidLabels(), peers), "x")


async def test_a_router_that_is_asked_by_another_asks_no_third_one() -> None:
    peers = SaidPeers({"x": Told.MATCHED})
    assert await feedback(SaidLabels(), peers).tell_here("digits", [("x", (1,))]) == [Told.UNKNOWN]
    assert peers.shown == []


async def test_while_many_labels_are_counted_queries_come_in_between() -> None:
    here = SaidLabels(**{f"x{n}": Told.MATCHED for n in range(2 * AT_ONCE + 1)})
    seen: list[int] = []
    asyncio.get_running_loop().call_soon(lambda: seen.append(len(here.at_s)))
    assert await told(feedback(here, SaidPeers()), *here.known) == [Told.MATCHED] * (2 * AT_ONCE + 1)
    assert len(here.at_s) == 3
    assert seen == [1]
