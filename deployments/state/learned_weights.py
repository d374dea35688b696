"""What all routers have learned of the members of ensembles."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deployments.messages.learned import LearnedVotes

MOST_ROUTERS = 64
"""Counts of so many routers are kept apart; of more, those are added up that are gone ..."""

SILENT = 10
"""... since they were not heard of while the others exchanged so many times each."""

NOTHING = LearnedVotes({})

Learned = Mapping[str, LearnedVotes]
"""By endpoint."""


class LearnedWeights:
    """Keeps the newest counts of each router, which count from its start and replace those before.

    A router that is gone never comes back under its name, so that what it learned stays; nothing is counted twice,
    whoever of controller and routers is replaced.
    """

    def __init__(self) -> None:
        self._by_router: dict[str, dict[str, LearnedVotes]] = {}
        self._gone: dict[str, LearnedVotes] = {}
        self._exchanges = 0
        self._heard: dict[str, int] = {}

    def exchange(self, router: str, learned: Learned) -> Learned:
        """Take what a router has learned since it began; gives what everyone else has."""
        self._exchanges += 1
        if learned:
            self._by_router.pop(router, None)
            self._by_router[router] = dict(learned)
            self._heard[router] = self._exchanges
        while len(self._by_router) > MOST_ROUTERS:
            oldest = next(iter(self._by_router))
            if self._exchanges - self._heard.get(oldest, 0) <= SILENT * len(self._by_router):
                break
            self._heard.pop(oldest, None)
            _add(self._gone, self._by_router.pop(oldest))
        others = dict(self._gone)
        for name, own in self._by_router.items():
            if name != router:
                _add(others, own)
        return others

    def to_record(self) -> dict[str, Any]:
        """All of it in JSON values."""
        routers = {router: _record(own) for router, own in self._by_router.items()}
        return {"routers": routers, "gone": _record(self._gone)}

    def restore(self, record: Mapping[str, Any]) -> None:
        """Know what another controller knew."""
        self._by_router = {router: _learned(own) for router, own in record["routers"].items()}
        self._gone = _learned(record["gone"])


def _add(to: dict[str, LearnedVotes], learned: Learned) -> None:
    for endpoint, votes in learned.items():
        to[endpoint] = to.get(endpoint, NOTHING) + votes


def _record(learned: Learned) -> dict[str, Any]:
    return {
        endpoint: {member: counts.tolist() for member, counts in votes.by_member.items()}
        for endpoint, votes in learned.items()
    }


def _learned(record: Mapping[str, Any]) -> dict[str, LearnedVotes]:
    return {
        endpoint: LearnedVotes({member: np.array(counts, np.float64) for member, counts in votes.items()})
        for endpoint, votes in record.items()
    }
