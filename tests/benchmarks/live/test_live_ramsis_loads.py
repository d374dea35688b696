"""Loads of live RAMSIS with pauses in them."""

from benchmarks.live_ramsis.loads import TRACE, Case
from benchmarks.live_ramsis.simulated import loads_between
from workload.rate import RateSchedule, RateStep


def test_tables_are_for_the_loads_between_pauses() -> None:
    steps = tuple(RateStep(rate_qps, 1.0) for rate_qps in (0.0, 40.0, 0.0, 160.0))
    case = Case(TRACE, 0.5, RateSchedule(steps), 4.0, 0.0, 1)
    assert case.span_qps == (40.0, 160.0)
    assert len(loads_between(*case.span_qps)) < 20
