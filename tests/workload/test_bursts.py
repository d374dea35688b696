"""Bursts by their rules: rates where they are quiet and where they are not, parts of the mix, seeds."""

import numpy as np
import pytest

from workload.bursts import OFF_S, ON_S, SHAPES, TIMES, burst_arrivals, flash_crowd

MIX = {"a": 0.75, "b": 0.25}
QUIET_QPS = 400.0


def merged(shape: str, seed: int = 0, duration_s: float = 120.0) -> np.ndarray:
    return np.sort(np.concatenate(list(burst_arrivals(shape, MIX, duration_s, QUIET_QPS, seed).values())))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_gives_the_same_queries_of_the_same_types_in_these_parts(shape: str) -> None:
    first, again, other = (burst_arrivals(shape, MIX, 120.0, QUIET_QPS, seed) for seed in (3, 3, 4))
    assert all(np.array_equal(first[name], again[name]) for name in MIX)
    assert not np.array_equal(first["a"], other["a"])
    total = sum(map(len, first.values()))
    assert len(first["b"]) / total == pytest.approx(0.25, abs=0.01)
    assert all((np.diff(of) >= 0).all() and of[0] >= 0 and of[-1] <= 120.0 for of in first.values())


def test_on_and_off_by_turns() -> None:
    in_turn = merged("on_off") % (ON_S + OFF_S)
    quiet, busy = (in_turn < OFF_S).sum() / 4 / OFF_S, (in_turn >= OFF_S).sum() / 4 / ON_S
    assert quiet == pytest.approx(QUIET_QPS, rel=0.03)
    assert busy == pytest.approx(TIMES * QUIET_QPS, rel=0.03)


def test_a_flash_crowd_comes_once_and_goes_slowly() -> None:
    starts_s = np.array(flash_crowd(120.0, QUIET_QPS).starts_s)
    rates_qps = np.array([step.rate_qps for step in flash_crowd(120.0, QUIET_QPS).steps])
    assert rates_qps.max() == TIMES * QUIET_QPS
    assert rates_qps[0] == rates_qps[-1] == QUIET_QPS
    top_s = starts_s[rates_qps == rates_qps.max()][0]
    assert top_s == pytest.approx(0.4 * 120.0 + 5.0)
    counts = np.histogram(merged("flash_crowd"), bins=[0, 40, 54, 72, 115, 120])[0] / np.diff([0, 40, 54, 72, 115, 120])
    assert counts[0] == pytest.approx(QUIET_QPS, rel=0.05)
    assert counts[2] == pytest.approx(TIMES * QUIET_QPS, rel=0.05)


def test_gamma_gaps_vary_four_times_as_much_as_their_mean() -> None:
    gaps_s = np.diff(merged("gamma", duration_s=600.0))
    assert gaps_s.mean() == pytest.approx(1 / QUIET_QPS, rel=0.03)
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(4.0, rel=0.03)
