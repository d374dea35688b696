"""Levels are never faster than what they stand for, and few."""

import numpy as np
import pytest

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.ramsis.tables.latency_level import PATH_STEP, RUN_STEP, SHORTEST_PATH_S, TAIL_STEP, LatencyLevel


def random_estimate(rng: np.random.Generator) -> LatencyEstimate:
    path_s = float(rng.uniform(0.0, 0.05))
    return LatencyEstimate(
        run_factor=float(rng.uniform(0.3, 4.0)),
        run_tail=float(rng.uniform(1.0, 3.0)),
        path_s=path_s,
        path_tail_s=path_s * float(rng.uniform(1.0, 4.0)),
    )


def test_a_level_is_no_faster_and_slower_by_less_than_a_step() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        estimate = random_estimate(rng)
        level = LatencyLevel.above(estimate)
        path_s = max(estimate.path_s, SHORTEST_PATH_S)
        slack = 1.0 - 2e-6
        assert slack <= level.run_factor / estimate.run_factor <= RUN_STEP
        assert slack <= level.run_tail / estimate.run_tail <= TAIL_STEP
        assert slack <= level.path_s / path_s <= PATH_STEP
        assert slack <= level.path_tail / max(estimate.path_tail_s / path_s, 1.0) <= TAIL_STEP


def test_a_level_is_above_itself() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        level = LatencyLevel.above(random_estimate(rng))
        assert LatencyLevel.above(level.estimate) == level
        assert level.inflated(1.0, 1.0) == level


def test_no_way_counts_as_a_short_one() -> None:
    level = LatencyLevel.above(LatencyEstimate())
    assert level == LatencyLevel(run_factor=1.0, run_tail=1.0, path_s=SHORTEST_PATH_S, path_tail=1.0)
    assert level.estimate.path_tail_s == SHORTEST_PATH_S


def test_inflated_levels_are_longer_by_these_factors_or_a_step_more() -> None:
    level = LatencyLevel.above(LatencyEstimate(run_factor=1.1, run_tail=1.3, path_s=0.008, path_tail_s=0.012))
    further = level.inflated(1.5, 2.0)
    assert 1.5 <= further.run_factor / level.run_factor <= 1.5 * RUN_STEP
    assert 2.0 <= further.path_s / level.path_s <= 2.0 * PATH_STEP
    assert (further.run_tail, further.path_tail) == (level.run_tail, level.path_tail)
    assert further.run_factor == pytest.approx(RUN_STEP ** round(np.log(further.run_factor) / np.log(RUN_STEP)))
