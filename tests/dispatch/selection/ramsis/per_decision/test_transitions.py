"""Transition probabilities against their sums, their adjoint and simulation."""

import numpy as np
import pytest

from dispatch.selection.ramsis.arrivals import ArrivalDistribution, NegativeBinomial, Poisson
from dispatch.selection.ramsis.per_decision.transitions import Transitions

SLACK_S = np.linspace(0.0, 0.1, 11)
LATENCY_S = np.array([0.013, 0.07, 0.1, 0.16])
ROWS = 4

CASES = [(Poisson(150.0), 1), (Poisson(400.0), 5), (NegativeBinomial(150.0, 3.0), 3)]


@pytest.mark.parametrize(("arrivals", "workers"), CASES)
def test_probabilities_of_all_next_states_sum_to_one(arrivals: ArrivalDistribution, workers: int) -> None:
    transitions = Transitions(LATENCY_S, SLACK_S, arrivals, workers, ROWS)
    np.testing.assert_allclose(transitions.expect(np.ones((ROWS, 11)), 1.0, 1.0), 1.0, atol=1e-10)
    for launch in range(len(LATENCY_S)):
        for phase in range(workers):
            states, empty, full = transitions.spread(unit(launch, phase, workers))
            assert states.sum() + empty + full == pytest.approx(1.0, abs=1e-10)
            assert states.min() > -1e-12


def unit(launch: int, phase: int, workers: int) -> np.ndarray:
    mass = np.zeros((len(LATENCY_S), workers))
    mass[launch, phase] = 1.0
    return mass


@pytest.mark.parametrize(("arrivals", "workers"), CASES)
def test_spreading_is_the_adjoint_of_expecting(arrivals: ArrivalDistribution, workers: int) -> None:
    rng = np.random.default_rng(3)
    transitions = Transitions(LATENCY_S, SLACK_S, arrivals, workers, ROWS)
    value, mass = rng.normal(size=(ROWS, 11)), rng.random((len(LATENCY_S), workers))
    states, empty, full = transitions.spread(mass)
    expected = (mass * transitions.expect(value, 0.3, -2.0)).sum()
    assert (states * value).sum() + 0.3 * empty - 2.0 * full == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("launch", [0, 1, 3])
def test_next_states_of_a_round_robin_are_as_often_as_in_a_simulation(launch: int) -> None:
    workers, phase, rate_qps, runs = 5, 2, 400.0, 100_000
    rng = np.random.default_rng(11)
    latency_s = LATENCY_S[launch]
    gaps = rng.exponential(1.0 / rate_qps, (runs, 160))
    times_s = np.cumsum(gaps, axis=1)
    own = times_s[:, workers - phase - 1 :: workers]
    rows = (own <= latency_s).sum(axis=1)
    slack_s = SLACK_S[-1] - (latency_s - own[:, 0])
    step = np.clip(np.searchsorted(SLACK_S, slack_s, side="right") - 1, 0, 10)
    seen = np.zeros((ROWS, 11))
    np.add.at(seen, (rows[(rows > 0) & (rows <= ROWS)] - 1, step[(rows > 0) & (rows <= ROWS)]), 1.0 / runs)
    states, empty, full = Transitions(LATENCY_S, SLACK_S, Poisson(rate_qps), workers, ROWS).spread(
        unit(launch, phase, workers)
    )
    assert empty == pytest.approx((rows == 0).mean(), abs=0.006)
    assert full == pytest.approx((rows > ROWS).mean(), abs=0.006)
    np.testing.assert_allclose(states, seen, atol=0.006)
