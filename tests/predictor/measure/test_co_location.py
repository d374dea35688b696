"""Of the estimate by hand, and of the turns by processes whose times are given."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from predictor.measure.co_location import LEAST_CYCLES, Cycle, estimate, measure
from predictor.measure.cpu_time import CpuReading
from predictor.measure.positions import Role
from predictor.measure.requests import Batches, Loaded

A, B = Role("a", 4), Role("b", 1)


def cycle(alone: Any, together: Any, others_frac: float = 0.0) -> Cycle:
    return Cycle(np.array(alone, dtype=float), np.array(together, dtype=float), others_frac)


def test_latencies_are_means_over_all_batches_not_over_windows() -> None:
    found = estimate([cycle([[1.0], [10]], [[1.0], [10]]), cycle([[1.0], [10]], [[1.0], [5]])])
    assert found.alone_s == pytest.approx((0.1,))
    assert found.together_s == pytest.approx((2.0 / 15,))
    assert found.slowdown == pytest.approx((4 / 3,))
    assert found.cycles == 2


def test_the_error_is_that_of_a_ratio_of_two_sums() -> None:
    """Residuals are 0.25 and -0.25 of the mean of 7.5 batches in a second; alone there are none."""
    found = estimate([cycle([[1.0], [10]], [[1.0], [10]]), cycle([[1.0], [10]], [[1.0], [5]])])
    residual = (1.0 - 10 * 2 / 15) / (7.5 * 2 / 15)
    assert found.error == pytest.approx((4 / 3 * abs(residual),))


def test_a_machine_that_gets_slower_for_alone_and_together_alike_makes_no_error() -> None:
    found = estimate([cycle([[1.0], [100]], [[1.0], [50]]), cycle([[1.0], [20]], [[1.0], [10]])])
    assert found.slowdown == pytest.approx((2.0,))
    assert found.error == pytest.approx((0.0,))


class GivenClock:
    """Others have the share of the CPUs that stands next in ``others``, 0 after the last."""

    def __init__(self, others: Sequence[float]) -> None:
        self.others = list(others)

    def read(self) -> CpuReading:
        return CpuReading(0.0, 0.0)

    def others_frac(self, since: CpuReading, own_s: float) -> float:
        return self.others.pop(0) if self.others else 0.0


class GivenPositions:
    """A batch takes 2 ms for each row, times how many run; ten times that while others have the CPUs."""

    def __init__(self, others: Sequence[float] = ()) -> None:
        self.clock = GivenClock(others)
        self.windows: list[tuple[tuple[Role, ...], int]] = []

    def load(self, roles: Sequence[Role], first: int = 0) -> list[Loaded]:
        return [Loaded(0) for _ in roles]

    def trial_s(self, role: Role) -> float:
        return 0.002 * role.rows

    def window(self, roles: Sequence[Role], seconds: float, first: int = 0) -> list[Batches]:
        self.windows.append((tuple(roles), first))
        factor = 10 if len(roles) > 1 and self.clock.others and self.clock.others[0] else 1
        return [Batches(20, 20 * 0.002 * role.rows * len(roles) * factor, 0.0, 0, 0, 0.0) for role in roles]


def measured(positions: GivenPositions, roles: Sequence[Role], share_s: float = 30.0) -> Any:
    return measure(positions, roles, share_s, Random(0), [])  # type: ignore[arg-type]


def test_slowdowns_are_in_the_order_of_the_roles_and_measuring_ends_when_they_are_known() -> None:
    found = measured(GivenPositions(), [A, B, A])
    assert found.alone_s == pytest.approx((0.008, 0.002, 0.008))
    assert found.slowdown == pytest.approx((3.0, 3.0, 3.0))
    assert found.cycles == LEAST_CYCLES


def test_in_each_cycle_every_role_has_every_turn_and_stands_alone_once() -> None:
    positions = GivenPositions()
    measured(positions, [A, B])
    alone = Counter(roles for roles, _ in positions.windows if len(roles) == 1)
    assert alone == {(A,): LEAST_CYCLES, (B,): LEAST_CYCLES}
    turns = Counter(
        (role, (first + index) % 2)
        for roles, first in positions.windows
        if len(roles) == 2
        for index, role in enumerate(roles)
    )
    assert turns == {(role, turn): LEAST_CYCLES for role in (A, B) for turn in (0, 1)}


def test_cycles_in_which_others_had_the_cpus_do_not_count() -> None:
    found = measured(GivenPositions([0.4, 0.0, 0.2] + [0.0] * 20), [A, B])
    assert found.slowdown == pytest.approx((2.0, 2.0))
    assert found.others_frac == 0.0
    assert found.cycles == LEAST_CYCLES


def test_where_others_have_them_all_the_time_the_least_disturbed_count_and_it_is_said() -> None:
    found = measured(GivenPositions([0.9, 0.4, *[0.5] * 100_000]), [A, B], share_s=0.05)
    assert found.cycles == LEAST_CYCLES
    assert found.others_frac == pytest.approx((0.4 + 0.5 * (LEAST_CYCLES - 1)) / LEAST_CYCLES)


def test_there_is_one_cycle_where_there_is_no_time() -> None:
    assert measured(GivenPositions(), [A, B], share_s=0.0).cycles == 1


def test_cycles_of_before_count_with_those_that_are_added() -> None:
    cycles: list[Any] = []
    for _ in range(2):
        found = measure(GivenPositions(), [A, B], 0.0, Random(0), cycles)  # type: ignore[arg-type]
    assert (len(cycles), found.cycles) == (2, 2)
