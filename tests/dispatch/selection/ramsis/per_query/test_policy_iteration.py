"""Policy iteration on small random processes, against all their policies."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dispatch.selection.ramsis.per_query import policy_iteration
from dispatch.selection.ramsis.per_query.policy_iteration import Settled, gain_bounds, settle

Floats = NDArray[np.float64]
STATES, ACTIONS = 5, 3


class RandomProcess:
    """A few states and actions with random rewards, times and transitions."""

    def __init__(self, seed: int, sticky: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.reward = rng.uniform(0.0, 1.0, (STATES, ACTIONS))
        self.time_s = rng.uniform(0.5, 2.0, (STATES, ACTIONS))
        there = rng.dirichlet(np.full(STATES, 0.3), (STATES, ACTIONS))
        self.there = sticky * np.eye(STATES)[:, None, :] + (1.0 - sticky) * there
        self.quickest_s, self.slowest_s = float(self.time_s.min()), float(self.time_s.max())
        self.action = np.zeros(STATES, dtype=np.intp)

    def improve(self, after: Floats, gain: float) -> Floats:
        worth = self.reward - gain * self.time_s + self.there @ after
        self.action = worth.argmax(axis=1)
        return np.asarray(worth.max(axis=1))

    def follow(self, after: Floats, gain: float, rewarded: bool) -> Floats:
        at = np.arange(STATES), self.action
        return np.asarray(rewarded * self.reward[at] - gain * self.time_s[at] + self.there[at] @ after)

    def gain_of(self, action: tuple[int, ...]) -> float:
        """By the stationary distribution."""
        at = np.arange(STATES), np.array(action)
        balance = np.concatenate([(np.eye(STATES) - self.there[at]).T, np.ones((1, STATES))])
        share = np.linalg.lstsq(balance, np.append(np.zeros(STATES), 1.0), rcond=None)[0]
        return float(share @ self.reward[at] / (share @ self.time_s[at]))

    def best_gain(self) -> float:
        return max(self.gain_of(action) for action in product(range(ACTIONS), repeat=STATES))


NOWHERE = Settled(np.zeros(STATES), 0.0, settled=False)


@pytest.mark.parametrize("sticky", [0.0, 0.99])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cold", [True, False])
def test_the_gain_is_that_of_the_best_of_all_policies(seed: int, sticky: float, cold: bool) -> None:
    process = RandomProcess(seed, sticky)
    found = settle(process, NOWHERE, 1e-9, cold=cold)
    assert found.settled
    assert found.gain == pytest.approx(process.best_gain(), abs=1e-8)
    assert process.gain_of(tuple(process.action)) == pytest.approx(process.best_gain(), abs=1e-8)


@pytest.mark.parametrize("most", [0, 1, policy_iteration.MOST_EVALUATIONS])
def test_bounds_of_the_gain_hold_however_little_work_was_done(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_iteration, "MOST_EVALUATIONS", most)
    monkeypatch.setattr(policy_iteration, "STEPS", 2)
    for seed in range(10):
        process = RandomProcess(seed, 0.9)
        process.improve(np.zeros(STATES), 0.0)
        low, high, evaluated = gain_bounds(process, NOWHERE, 1.0)
        gain = process.gain_of(tuple(process.action))
        assert low - 1e-12 <= gain <= high + 1e-12
        assert evaluated.settled == (high - low < policy_iteration.PRECISION)
        assert not evaluated.settled if most == 0 else True


def test_a_gain_that_cannot_be_enough_ends_the_work() -> None:
    process = RandomProcess(1)
    best = process.best_gain()
    assert settle(process, NOWHERE, 1e-9, enough=best + 100.0).gain < best + 100.0
    assert settle(process, NOWHERE, 1e-9, enough=best - 1e-6).gain == pytest.approx(best, abs=1e-8)


def test_running_into_the_bound_of_work_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_iteration, "MOST_IMPROVEMENTS", 1)
    assert not settle(RandomProcess(1), NOWHERE, 1e-9).settled
