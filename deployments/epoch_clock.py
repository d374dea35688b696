"""Instants since the epoch that do not jump."""

import time
from collections.abc import Callable


def epoch_clock(
    wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
) -> Callable[[], float]:
    """A clock of seconds since the epoch: the wall's as it is now, and from then on as much later as ``steady`` says.

    Reports of routers are counted in windows of it, and a router that says nothing for seconds counts as gone; a wall
    clock that is set, ahead or back, must be no reason for either.
    """
    offset_s = wall() - steady()
    return lambda: offset_s + steady()
