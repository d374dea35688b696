"""How many requests a router may have at once, by how long they wait there."""

from dataclasses import dataclass

FIRST, LEAST, MOST = 128, 64, 4096
"""With half of the least at a time a query was measured to cost a router twice as much of its core: a call to a worker
presumably costs it nearly the same, however few rows it has."""

FRESH_S = 6.0
"""Routers that have just come are behind with what waited for them, and soon are no more."""

SHRINK_MOST = 0.7
GROW, GROW_UNUSED = 12, 6
"""By so much of itself it grows: slowly where requests stand in front of it, or it swings; sooner where none do."""


@dataclass(frozen=True)
class Seen:
    """One router, as HAProxy sees it."""

    wait_pct: int  # of the wait that requests may have before the router decides about them
    in_use: int  # requests that the router has
    waiting: int  # requests in front of it


def next_size(size: int, seen: Seen, age_s: float = FRESH_S) -> int:
    """The window for the next moment, ``age_s`` after the routers of now came: no less than `FIRST` until `FRESH_S`.

    Additive growth is too slow for bursts, so both ways go by factors.

    It shrinks where requests wait too long for the router's event loop while the window is what holds them back. It
    grows by a twelfth where requests stand in front of it and those inside do not wait, and back to `FIRST` anyway.
    What waits inside for a worker does not count: of that the dispatcher knows better than the proxy.
    """
    if age_s < FRESH_S and size <= FIRST and seen.wait_pct > 100:
        return FIRST
    if seen.wait_pct > 100:
        if seen.in_use * 2 < size:
            return size
        return max(LEAST, int(size * max(SHRINK_MOST, 100 / seen.wait_pct)))
    if seen.waiting > 0:
        return min(MOST, size + max(1, size // GROW))
    if size < FIRST:
        return min(FIRST, size + max(1, size // GROW_UNUSED))
    return size
