"""Labels from clients, wherever the answer was given."""

import asyncio
from collections.abc import Callable, Sequence

from deployments.router.feedback.labels import Label, Labels
from deployments.router.peers import Peers
from deployments.router.router import Router
from dispatch.ensemble.ground_truth import Told

UNSEEN = (Told.UNKNOWN, Told.EXPIRED)

SAYS_MORE = (Told.UNKNOWN, Told.EXPIRED, Told.DUPLICATE, Told.MATCHED)
"""Of what several routers say of one label the last counts."""

AT_ONCE = 400
"""So many labels take some 10 ms."""


class Feedback:
    """Gives labels to the router that answered: this one, or one of its ``peers``."""

    def __init__(self, router: Router, labels: Labels, peers: Peers, clock: Callable[[], float]) -> None:
        self._router = router
        self._labels = labels
        self._peers = peers
        self._clock = clock

    async def tell_here(self, endpoint: str, labels: Sequence[Label]) -> list[Told]:
        """See `Labels.tell`; lets queries in between where there are many."""
        self._labels.check(endpoint, labels)
        told: list[Told] = []
        for start in range(0, len(labels), AT_ONCE):
            if start:
                await asyncio.sleep(0)
            told += self._labels.tell(endpoint, labels[start : start + AT_ONCE], self._clock())
        return told

    async def tell(self, endpoint: str, labels: Sequence[Label]) -> list[Told]:
        """What became of each label; those that are not known here are shown to the other routers.

        Raises `BadRequest` for one that cannot be.
        """
        told = await self.tell_here(endpoint, labels)
        unseen = [index for index, result in enumerate(told) if result in UNSEEN]
        if not unseen:
            return told
        for theirs in await self._peers.feedback(endpoint, [labels[index] for index in unseen], self._router.routing):
            for index, result in zip(unseen, theirs, strict=True):
                told[index] = max(told[index], result, key=SAYS_MORE.index)
        return told
