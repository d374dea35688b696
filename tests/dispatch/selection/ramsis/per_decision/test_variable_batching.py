"""Variable batching against maximal batching and a plain simulation."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.selection.ramsis.per_decision.leftovers import Leftovers
from dispatch.selection.ramsis.per_decision.phases import phase_weights
from dispatch.selection.ramsis.slack import slack_grid
from dispatch.selection.ramsis.solver import solve
from ramsis_scene import assert_bounds_hold_in, observe, problem


@pytest.mark.parametrize(("workers", "load_qps"), [(1, 60.0), (3, 240.0)])
def test_bounds_agree_with_a_simulation(workers: int, load_qps: float) -> None:
    solved = problem(load_qps, workers, "per_decision", "variable", slack_steps=100)
    table = solve(solved)
    assert_bounds_hold_in(observe(table, solved), table, bias=0.015)


def test_it_takes_part_of_the_queue_where_the_rest_can_wait() -> None:
    table = solve(problem(60.0, 1, "per_decision", "variable"))
    assert table.rows is not None
    waiting = np.arange(1, 9)[:, None, None]
    assert np.all(table.rows <= waiting)
    assert np.any(table.rows < waiting)
    assert np.all(table.rows[:, 0] == waiting[:, 0]), "a late queue is served whole"


def test_the_mean_reward_per_decision_is_no_worse_than_with_maximal_batching() -> None:
    solved = problem(60.0, 1, "per_decision", "variable", slack_steps=100)
    decisions = [observe(solve(replace(solved, batching=batching)), solved) for batching in ("variable", "maximal")]
    variable, maximal = (seen.accuracy.mean() for seen in decisions)
    assert variable > maximal - 0.02  # appendix D: next to no difference


def test_who_is_first_of_those_left_agrees_with_a_simulation() -> None:
    workers, n, batch, step = 3, 4, 2, 20
    solved = problem(300.0, workers, "per_decision", "variable")
    slack_s = slack_grid(solved)
    weights = phase_weights(solved.arrivals, slack_s, workers, 8)
    spread = Leftovers(solved, slack_s, weights, np.array([0.02])).first_left(n, batch)[step]
    by_step = spread.reshape(workers, len(slack_s))
    age_s = slack_s[-1] - slack_s[step]
    rng = np.random.default_rng(9)
    seen = np.zeros_like(by_step)
    runs = 40_000
    counts = rng.choice(workers, runs, p=weights[n - 1, step]) + (n - 1) * workers
    for count in np.unique(counts):
        times = int((counts == count).sum())
        came_s = np.sort(rng.uniform(0.0, age_s, (times, count)), axis=1)[:, batch * workers - 1]
        first = np.searchsorted(slack_s, slack_s[step] + came_s + 1e-12, side="right") - 1
        np.add.at(seen[count - (n - 1) * workers], first, 1.0 / runs)
    np.testing.assert_allclose(by_step, seen, atol=0.01)
