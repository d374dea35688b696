"""The round robin's turn, counted out."""

import numpy as np
import pytest

from dispatch.selection.ramsis.arrivals import NegativeBinomial
from dispatch.selection.ramsis.per_query.ages import Ages
from dispatch.selection.ramsis.per_query.turns import Turn

SINGLE = (0.0, 1.0)


def test_a_turn_of_three_workers_in_pairs() -> None:
    turn = Turn(3, 2, SINGLE)
    assert turn.own.tolist() == [True, True, False, False, False, False]
    assert turn.distance.tolist() == [1, 1, 5, 4, 3, 2]
    assert turn.after.tolist() == [1, 2, 1, 1, 1, 1]
    assert turn.rows_after(1, 8).tolist() == [1, 2, 2, 2, 2, 2, 3, 4, 4]
    assert turn.rows_after(2, 6).tolist() == [1, 1, 1, 1, 1, 2, 3]
    assert turn.instants.tolist() == turn.distance.tolist()


def test_one_worker_is_always_next() -> None:
    turn = Turn(1, 1, SINGLE)
    assert (turn.distance.tolist(), turn.after.tolist(), turn.phases) == ([1], [0], 1)
    assert turn.rows_after(0, 3).tolist() == [1, 2, 3, 4]


def test_bursts_pass_the_next_arrival_by_as_much_as_in_a_simulation() -> None:
    turn = Turn(5, 1, tuple(NegativeBinomial(1.0, 4.0).together_pmf(60).tolist()))
    bursts = np.random.default_rng(5).logseries(0.75, (50_000, 8)).cumsum(axis=1)
    for distance in (1, 2, 5):
        first = np.argmax(bursts >= distance, axis=1)
        passed = bursts[np.arange(len(bursts)), first] - distance
        observed = np.bincount(passed, minlength=60)[:60] / len(passed)
        np.testing.assert_allclose(turn.overshoot[distance][:30], observed[:30], atol=0.01)


@pytest.mark.parametrize("rate_qps", [5.0, 300.0, 20_000.0])
def test_the_age_after_an_exponential_wait_agrees_with_a_simulation(rate_qps: float) -> None:
    ages = Ages.of(np.array([0.0, 0.01, 0.04, 0.05]), 0.08)
    rng = np.random.default_rng(2)
    reached = ages.after_exponential(rate_qps)
    np.testing.assert_allclose(reached.sum(axis=1), 1.0, atol=1e-12)
    for now in range(ages.timely):
        age_s = rng.uniform(ages.low_s[now], ages.high_s[now], 100_000) + rng.exponential(1.0 / rate_qps, 100_000)
        then = np.searchsorted(ages.high_s, age_s)
        observed = np.bincount(then, minlength=len(ages.low_s) + 1) / len(then)
        np.testing.assert_allclose(reached[now], observed, atol=0.01)


def test_ages_are_the_slack_grid_from_its_other_end() -> None:
    ages = Ages.of(np.array([0.0, 0.01, 0.04, 0.05]), 0.08)
    np.testing.assert_allclose(0.05 - ages.high_s[: ages.timely], [0.05, 0.04, 0.01, 0.0])
    assert ages.high_s[-1] >= 0.08
    np.testing.assert_allclose(ages.low_s[1:], ages.high_s[:-1])
