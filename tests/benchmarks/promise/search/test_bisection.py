"""The search finds what a machine with a known limit sustains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.promise.search.bisection import LEAST_QPS, LOWERING, RAISE, RESOLUTION, highest_qps, raised_qps


class Machine:
    """Sustains loads up to its limit; remembers what was tried."""

    def __init__(self, limit_qps: float, hiccups: int = 0) -> None:
        self.limit_qps, self.hiccups = limit_qps, hiccups
        self.tried_qps: list[float] = []

    def sustains(self, load_qps: float) -> bool:
        self.tried_qps.append(load_qps)
        if self.hiccups:
            self.hiccups -= 1
            return False
        return load_qps <= self.limit_qps


@given(st.floats(20.0, 50_000.0), st.floats(20.0, 50_000.0))
def test_what_is_found_is_sustained_and_within_the_resolution(limit_qps: float, start_qps: float) -> None:
    machine = Machine(limit_qps)
    found_qps = highest_qps(machine.sustains, start_qps)
    assert found_qps <= limit_qps <= found_qps * RESOLUTION


def test_one_bad_trial_does_not_end_the_search() -> None:
    assert highest_qps(Machine(900.0, hiccups=1).sustains, 500.0) > 900.0 / RESOLUTION


def test_a_machine_that_sustains_nothing_has_no_highest_load() -> None:
    machine = Machine(0.0)
    assert highest_qps(machine.sustains, 500.0) == 0.0
    assert min(machine.tried_qps) >= LEAST_QPS
    assert raised_qps(machine.sustains, machine.sustains, 0.0) == 0.0


def test_a_system_that_is_no_better_costs_one_trial() -> None:
    machine = Machine(500.0)
    assert raised_qps(machine.sustains, machine.sustains, 500.0) == 500.0
    assert len(machine.tried_qps) == 1


def test_a_better_system_raises_what_is_known() -> None:
    machine = Machine(900.0)
    assert 900.0 / RESOLUTION <= raised_qps(machine.sustains, machine.sustains, 500.0) <= 900.0


def test_what_only_short_trials_sustain_is_lowered_until_a_long_one_does() -> None:
    short, long = Machine(1000.0), Machine(800.0)
    assert 800.0 / LOWERING <= raised_qps(short.sustains, long.sustains, 0.0) <= 800.0
    assert raised_qps(short.sustains, long.sustains, 900.0) == 900.0


def test_steps_are_smaller_where_nearly_as_much_is_known() -> None:
    machine = Machine(900.0)
    raised_qps(machine.sustains, machine.sustains, 500.0)
    assert machine.tried_qps[2] == pytest.approx(500.0 * RESOLUTION * RAISE)
