"""When Python looks for garbage in a router's process."""

import gc

YOUNG, OLD, ALL = 10_000, 10, 10
"""A look comes after so many objects more were made than freed, at older ones after so many looks.

The thousands of numbers of the queries in flight are looked at as well, so that with Python's 700 a look every 40 ms
took a millisecond, and every tenth one five: a twentieth of the time of a router under load, for next to no garbage.
"""


def look_seldom() -> None:
    """For the process that calls it, after it has imported what it needs: that is never looked at again.

    It is 200,000 objects, which stopped the event loop for some 100 ms each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLD, ALL)
