"""ModelSwitching by simulation, against queues whose latency is known."""

from itertools import pairwise
from math import exp, factorial, floor, inf
from pathlib import Path

import pytest
from scipy.optimize import brentq

from catalog.array_store import ArrayStore
from dispatch.selection.load_based.load_ladder import LoadLadder
from dispatch.selection.policy import Candidate
from simulator.switching import LOAD_RATIO, SwitchingMaker, geometric_qps, switching_ladder

SLO_S = 0.1
SERVICE_S = 0.030
ONE_BY_ONE = Candidate("slow", 0.9, (0.0, SERVICE_S))
FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.012, 0.014))
WORSE = Candidate("worse", 0.6, (0.0, 0.011, 0.013, 0.015))
TOO_SLOW = Candidate("too slow", 0.95, (0.0, 0.110))


def waits_at_most(time_s: float, load_qps: float) -> float:
    """Distribution of the wait in an M/D/1 queue (Erlang)."""
    terms = (
        (load_qps * (k * SERVICE_S - time_s)) ** k / factorial(k) * exp(-load_qps * (k * SERVICE_S - time_s))
        for k in range(floor(time_s / SERVICE_S) + 1)
    )
    return (1.0 - load_qps * SERVICE_S) * sum(terms)


def test_a_variant_serves_the_loads_under_which_its_p99_meets_the_objective() -> None:
    """One worker and batches of one: the load at which 1% wait longer than the objective leaves them time for."""
    ladder = SwitchingMaker((FAST, ONE_BY_ONE), SLO_S, 1).make()
    limit_qps = brentq(lambda load_qps: waits_at_most(SLO_S - SERVICE_S, load_qps) - 0.99, 0.1, 30.0)
    assert ladder.name == "model_switching"
    assert ladder.rungs[0].variant == "slow"
    assert ladder.rungs[0].below_qps == pytest.approx(limit_qps, rel=0.1)


@pytest.mark.parametrize("unit", [1.0, 10.0, 200.0])
def test_limits_of_slow_variants_are_those_of_fast_ones_in_another_unit_of_time(unit: float) -> None:
    slow, fast = (
        Candidate(each.variant, each.accuracy, tuple(unit * s for s in each.latency_s)) for each in (ONE_BY_ONE, FAST)
    )
    below_qps = SwitchingMaker((fast, slow), unit * SLO_S, 1).make().rungs[0].below_qps
    same_qps = SwitchingMaker((FAST, ONE_BY_ONE), SLO_S, 1).make().rungs[0].below_qps
    assert unit * below_qps == pytest.approx(same_qps, rel=0.15)


def test_no_variant_serves_more_than_it_bears_in_batches_of_up_to_half_the_objective() -> None:
    ladder = SwitchingMaker((FAST, ONE_BY_ONE, WORSE, TOO_SLOW), SLO_S, 2).make()
    assert [rung.variant for rung in ladder.rungs] == ["slow", "fast", "fast"]
    assert ladder.rungs[0].below_qps <= 2 / SERVICE_S
    assert ladder.rungs[1].below_qps == pytest.approx(2 * 3 / 0.014, rel=0.1)
    assert ladder.rungs[1].below_qps <= 2 * 3 / 0.014
    assert ladder.rungs[2].below_qps == inf


def test_where_nothing_meets_the_objective_the_fastest_serves_all() -> None:
    (only,) = SwitchingMaker((TOO_SLOW,), SLO_S, 1).make().rungs
    assert (only.variant, only.below_qps) == ("too slow", inf)


def test_what_was_simulated_is_kept_and_progress_ends_where_it_said(tmp_path: Path) -> None:
    maker, store = SwitchingMaker((FAST, ONE_BY_ONE), SLO_S, 1), ArrayStore(tmp_path)
    seen: list[tuple[int, int]] = []
    made = maker.make(store, lambda done, most: seen.append((done, most)))
    assert [done for done, _ in seen[:-1]] == list(range(1, len(seen)))
    assert seen[-1] == (seen[0][1], seen[0][1])
    assert seen[-2][0] <= seen[-1][1]
    asked = len(seen)
    assert maker.make(store, lambda done, most: seen.append((done, most))) == made
    assert len(seen) == asked
    assert SwitchingMaker((FAST, ONE_BY_ONE), SLO_S, 2).make(store).workers == 2  # kept under another name


def test_steps_of_load_are_as_near_as_they_should_be() -> None:
    loads_qps = geometric_qps(3.0, 500.0)
    assert (loads_qps[0], loads_qps[-1]) == (3.0, pytest.approx(500.0))
    ratios = [high / low for low, high in pairwise(loads_qps)]
    assert max(ratios) <= LOAD_RATIO
    assert min(ratios) == pytest.approx(max(ratios))
    assert geometric_qps(7.0, 7.0) == [7.0, 7.0]


def test_as_in_the_paper_a_load_counts_as_the_step_below_it() -> None:
    ladder = switching_ladder((FAST, ONE_BY_ONE), SLO_S, 1, loads_qps=[5.0, 50.0, 100.0])
    assert isinstance(ladder, LoadLadder)
    assert (ladder.rungs[0].variant, ladder.rungs[0].below_qps) == ("slow", 50.0)
