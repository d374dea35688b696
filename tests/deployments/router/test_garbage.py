"""How often a router's process looks for garbage."""

import gc

from deployments.router.garbage import look_at_all_seldom


def test_all_objects_are_looked_at_less_often_and_young_ones_as_ever() -> None:
    before = gc.get_threshold()
    try:
        look_at_all_seldom()
        young, old, everything = gc.get_threshold()
    finally:
        gc.set_threshold(*before)
    assert (young, old) == before[:2]
    assert everything > before[2]
