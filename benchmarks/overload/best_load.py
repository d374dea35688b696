"""The load that a service carries best."""

from collections.abc import Callable
from typing import NamedTuple

START_QPS, STEP, STEP_S = 60.0, 1.3, 4.0
ENOUGH = 0.8
"""A load of which no larger share is in time is far beyond the best one."""

MOST_STEPS = 25

SUSTAINED_S = 20.0
"""The best of many short loads is partly luck, and may leave a queue behind: what counts is a long one."""


class Best(NamedTuple):
    """A load, and how much of it is in time when it lasts."""

    load_qps: float
    goodput_qps: float


def find_best(goodput_qps: Callable[[float, float], float]) -> Best:
    """The best load, and its goodput when it lasts; 0 for both where nothing is in time.

    Loads rise by `STEP` until two in a row are mostly late or refused; the one with the highest goodput is played again
    for `SUSTAINED_S`. ``goodput_qps`` plays a load of so many queries per second for so many seconds.
    """
    best, best_load_qps = 0.0, 0.0
    beyond = 0
    load_qps = START_QPS
    for _ in range(MOST_STEPS):
        good_qps = goodput_qps(load_qps, STEP_S)
        if good_qps > best:
            best, best_load_qps = good_qps, load_qps
        beyond = beyond + 1 if good_qps < ENOUGH * load_qps else 0
        if beyond == 2:
            break
        load_qps *= STEP
    return Best(best_load_qps, goodput_qps(best_load_qps, SUSTAINED_S) if best else 0.0)
