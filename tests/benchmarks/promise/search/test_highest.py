"""The highest load, and what it is on a machine whose speed has changed."""

import pytest

from benchmarks.promise.search.highest import Highest


@pytest.mark.parametrize(("loop_s", "qps"), [(0.010, 1000.0), (0.020, 500.0), (0.008, 1000.0)])
def test_a_machine_that_takes_longer_for_the_loop_bears_less_and_one_that_takes_less_no_more(
    loop_s: float, qps: float
) -> None:
    assert Highest(1000.0, "greedy", 7, 0.010).now_qps(loop_s) == pytest.approx(qps)
