"""A clock of the controller and the routers, beside a wall clock that is set."""

import time

import pytest

from deployments.epoch_clock import epoch_clock


class Played:
    """A clock that stands where it is put."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_changes_nothing(jump_s: float) -> None:
    wall, steady = Played(1_800_000_000.0), Played(50.0)
    clock = epoch_clock(wall, steady)
    assert clock() == 1_800_000_000.0
    wall.now_s += jump_s
    steady.now_s += 5.0
    assert clock() == 1_800_000_005.0


def test_it_begins_at_what_the_wall_says() -> None:
    assert epoch_clock()() == pytest.approx(time.time(), abs=1.0)
