"""How often Python looks for garbage in a router's process."""

import gc

YOUNG, OLD, ALL = 700, 10, 100
"""As Python has it, but all objects are looked at after a hundred collections of the old ones instead of ten.

A router keeps the last 20,000 answers, so that a look at all objects stops its event loop for some 40 ms, batches of 64
queries with it. With Python's own thresholds that was once a second under overload. What is found that late are cycles
of some MiB, most of them connections and exceptions that are over.
"""


def look_at_all_seldom() -> None:
    """For the process that calls it."""
    gc.set_threshold(YOUNG, OLD, ALL)
