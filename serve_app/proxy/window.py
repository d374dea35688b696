"""How many requests a router may have at once, by how long they wait there."""

from dataclasses import dataclass
from math import ceil

FIRST, MOST = 128, 4096
LEAST, LEAST_REFUSING = 8, 64
"""Where requests wait too long for a router, it has fewer at a time, however few that is: on a slow core 64 are a wait
of a seventh of a second. Where most of its answers are refusals, no fewer than 64: with half as many at a time a query
was measured to cost a router twice as much of its core, since a call to a worker presumably costs nearly the same,
however few rows it has."""

FRESH_S = 6.0
"""Routers that have just come are behind with what waited for them, and soon are no more."""

SHRINK_MOST = 0.7
GROW = 6
"""It grows by such a part of itself where nobody waits inside, and the less the nearer that wait is to what may be: or
it swings between too small and too large."""


@dataclass(frozen=True)
class Seen:
    """One router, as HAProxy sees it."""

    wait_pct: int  # of the wait that requests may have before the router decides about them
    in_use: int  # requests that the router has
    waiting: int  # requests in front of it
    refusing_pct: int = 0  # refusals among its answers, of those that there may be


def next_size(size: int, seen: Seen, age_s: float = FRESH_S) -> int:
    """The window for the next moment, ``age_s`` after the routers of now came: no less than `FIRST` until `FRESH_S`.

    Additive growth is too slow for bursts, so both ways go by factors.

    It shrinks where requests wait too long for the router's event loop, or most are refused there, while the window is
    what holds them back. It grows where requests stand in front of it and those inside do not wait too long, and back
    to `FIRST` anyway. What waits inside for a worker does not count: of that the dispatcher knows better than the
    proxy.
    """
    waits, refuses = seen.wait_pct > 100, seen.refusing_pct > 100 and size >= LEAST_REFUSING
    if waits or refuses:
        if age_s < FRESH_S and size <= FIRST:
            return FIRST
        if seen.in_use * 2 < size:
            return size
        by_wait = _shrunk(size, seen.wait_pct, LEAST)
        return min(by_wait, _shrunk(size, seen.refusing_pct, LEAST_REFUSING)) if refuses else by_wait
    if seen.waiting > 0 or size < FIRST:
        grown = size + ceil(size / GROW * (1.0 - seen.wait_pct / 100))
        return min(MOST if seen.waiting > 0 else FIRST, grown)
    return size


def _shrunk(size: int, pct: int, least: int) -> int:
    return max(least, int(size * min(1.0, max(SHRINK_MOST, 100 / max(pct, 1)))))
