"""The paper's process: against every policy of a tiny instance, queueing theory, and a plain simulation."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dispatch.selection.ramsis.arrivals import NegativeBinomial, Poisson
from dispatch.selection.ramsis.per_decision.process import DecisionProcess, solve_per_decision
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.solver import solve
from ramsis_scene import assert_bounds_hold_in, observe, problem, tiny


def transition_row(process: DecisionProcess, launch: int, step: int) -> NDArray[np.float64]:
    """Probabilities of (states with rows, empty, full) after a launch in a slack step, from unit masses."""
    mass = np.zeros((len(process.launches.rows), process.weights.shape[2]))
    mass[launch] = process.weights[launch, step]
    states, empty, full = process.transitions.spread(mass)
    return np.append(states.ravel(), [empty, full])


def mean_reward(matrix: NDArray[np.float64], reward: NDArray[np.float64]) -> float:
    """Long-run mean by the stationary distribution, solved as linear equations."""
    states = len(matrix)
    system = np.vstack([matrix.T - np.eye(states), np.ones(states)])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)[0]
    return float(stationary @ reward)


def test_the_policy_of_a_tiny_instance_is_the_best_of_all_policies() -> None:
    small = tiny()
    process = DecisionProcess(small)
    lengths, steps = small.max_queue_rows, len(process.slack_s)
    options = [
        [launch for launch in np.flatnonzero(process.launches.rows == n) if np.isfinite(process.reward[launch, step])]
        for n in range(1, lengths + 1)
        for step in range(steps)
    ]
    empty_row = np.zeros(lengths * steps + 2)
    empty_row[steps - 1] = 1.0
    rows = [[transition_row(process, launch, at % steps) for launch in own] for at, own in enumerate(options)]
    full_row = rows[(lengths - 1) * steps][0]

    def gain(choice: tuple[int, ...]) -> float:
        matrix = np.array([*(own[picked] for own, picked in zip(rows, choice, strict=True)), empty_row, full_row])
        reward = [
            process.reward[own[picked], at % steps]
            for at, (own, picked) in enumerate(zip(options, choice, strict=True))
        ]
        return mean_reward(matrix, np.array([*reward, 0.0, 0.0]))

    gains = {choice: gain(choice) for choice in itertools.product(*(range(len(own)) for own in options))}
    assert len(gains) > 30
    launches, settled = process.optimal_launches()
    assert settled
    chosen = launches.ravel()
    ours = tuple(own.index(launch) for own, launch in zip(options, chosen, strict=True))
    assert gains[ours] == pytest.approx(max(gains.values()), abs=1e-6)
    assert max(gains.values()) - min(gains.values()) > 0.01, "the instance must tell policies apart"


def test_one_worker_with_one_variant_is_an_md1_queue_that_serves_all_who_wait() -> None:
    rate_qps, service_s = 40.0, 0.05
    single = WorkerProblem(
        ("only",), (0.8,), ((service_s,) * 12,), 0.1, 1, Poisson(rate_qps), "per_decision", slack_steps=100
    )
    process = DecisionProcess(single)
    launch = int(np.flatnonzero(process.launches.rows == 3)[0])
    row = transition_row(process, launch, 100)
    came = np.append(row[-2], row[:-2].reshape(12, -1).sum(axis=1))
    np.testing.assert_allclose(came, stats.poisson.pmf(np.arange(13), rate_qps * service_s), atol=1e-12)

    # Late are batches of which the first query came while the slot before was in its first (service + service - slo)
    # seconds: none here, since a wait of at most 50 ms and 50 ms of service make the objective of 100 ms.
    accuracy, violation_rate, stationary = process.bounds(process.optimal_launches()[0])
    assert stationary
    assert violation_rate < 1e-5  # queues of more than 12
    assert accuracy == pytest.approx(0.8, abs=1e-5)


def test_an_md1_queue_misses_a_tight_objective_as_often_as_theory_says() -> None:
    rate_qps, service_s, slo_s = 40.0, 0.05, 0.08
    single = WorkerProblem(
        ("only",), (0.8,), ((service_s,) * 20,), slo_s, 1, Poisson(rate_qps), "per_decision", slack_steps=800
    )
    table = solve_per_decision(single)
    # After each service the queue is Poisson(m) with m = rate * service; a batch that found the server idle is one
    # query and in time. Another is late if its first query came in the first service - (slo - service) seconds.
    mean = rate_qps * service_s
    late_window_s = 2 * service_s - slo_s
    came_early = 1.0 - np.exp(-rate_qps * late_window_s)
    late_rows = came_early + rate_qps * (service_s - late_window_s) * came_early  # the first, and all after the window
    rows_early = rate_qps * late_window_s + rate_qps * (service_s - late_window_s) * came_early
    assert late_rows > 0
    rows_per_cycle = mean + np.exp(-mean)
    assert table.expected_violation_rate == pytest.approx(rows_early / rows_per_cycle, rel=0.01)


@pytest.mark.parametrize(
    ("workers", "load_qps", "bursty"), [(1, 60.0, False), (4, 380.0, False), (8, 400.0, False), (1, 60.0, True)]
)
def test_bounds_agree_with_a_simulation(workers: int, load_qps: float, bursty: bool) -> None:
    arrivals = NegativeBinomial(load_qps, 3.0) if bursty else Poisson(load_qps)
    # One slack step as fine as the simulation's own: what the grid rounds away would be a bias, not noise.
    solved = problem(workers=workers, formulation="per_decision", slack_steps=400, arrivals=arrivals, lengths=16)
    table = solve(solved)
    assert_bounds_hold_in(observe(table, solved), table, bias=0.002)


def test_tables_of_two_runs_are_bit_identical() -> None:
    solved = problem(load_qps=300.0, workers=4, formulation="per_decision")
    first, second = (solve(solved).arrays() for _ in range(2))
    assert {name: array.tobytes() for name, array in first.items()} == {n: a.tobytes() for n, a in second.items()}


def test_model_based_slack_tells_every_latency_apart_and_is_no_worse() -> None:
    fine = problem(load_qps=300.0, workers=4, formulation="per_decision", slack_steps=400)
    by_model = solve(replace(fine, slack_steps=0))
    distinct = {s for row in fine.latency_s for s in row if s <= fine.slo_s}
    assert len(by_model.slack_s) == len(distinct | {0.0, fine.slo_s})
    coarse = solve(replace(fine, slack_steps=2))
    assert solve(fine).expected_accuracy > coarse.expected_accuracy


def test_no_state_runs_a_variant_that_would_be_late_while_another_would_not() -> None:
    solved = problem(load_qps=300.0, workers=4, formulation="per_decision")
    table = solve(solved)
    latency_s = np.array(solved.latency_s)
    for rows, slack_step in itertools.product(range(1, 9), range(41)):
        slack_s = float(table.slack_s[slack_step])
        variant, batch = table.lookup(rows, slack_s)
        assert batch == rows
        in_time = latency_s[:, rows - 1] <= slack_s + 1e-9
        assert in_time[variant] or not in_time.any()
        if not in_time.any():
            assert variant == np.argmin(latency_s[:, rows - 1])


def test_a_table_that_reached_the_most_sweeps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solve_per_decision(problem(50.0, formulation="per_decision", lengths=6)).settled
    monkeypatch.setattr("dispatch.selection.ramsis.per_decision.process.MAX_SWEEPS", 2)
    assert not solve_per_decision(problem(50.0, formulation="per_decision", lengths=6)).settled
