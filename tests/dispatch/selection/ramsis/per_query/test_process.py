"""Our process: against a plain simulation, against the paper's, and its corner cases."""

from dataclasses import replace

import numpy as np
import pytest

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import NegativeBinomial, Poisson
from dispatch.selection.ramsis.per_query import policy_iteration
from dispatch.selection.ramsis.per_query.process import solve_per_query
from dispatch.selection.ramsis.problem import WorkerProblem
from dispatch.selection.ramsis.solver import best_group, solve
from dispatch.selection.ramsis.tables.table import HOLD, DecisionTable
from ramsis_scene import assert_bounds_hold_in, observe, problem, random_problem


@pytest.mark.parametrize(
    ("workers", "group", "load_qps", "bursty"),
    [
        (1, 1, 60.0, False),
        (1, 1, 120.0, False),
        (4, 1, 380.0, False),
        (4, 3, 440.0, False),
        (8, 2, 400.0, False),
        (1, 1, 60.0, True),
        (4, 1, 300.0, True),
    ],
)
def test_bounds_agree_with_a_simulation(workers: int, group: int, load_qps: float, bursty: bool) -> None:
    arrivals = NegativeBinomial(load_qps, 3.0) if bursty else Poisson(load_qps)
    solved = problem(workers=workers, group=group, arrivals=arrivals, slack_steps=200, lengths=16)
    table = solve_per_query(solved)
    assert_bounds_hold_in(observe(table, solved), table, bias=0.0003)


@pytest.mark.parametrize("load_qps", [100.0, 250.0, 400.0, 480.0])
def test_it_is_at_least_as_accurate_per_query_as_the_paper_s_process(load_qps: float) -> None:
    ours = solve(problem(load_qps=load_qps, workers=4, slack_steps=100))
    paper = solve(problem(load_qps=load_qps, workers=4, slack_steps=100, formulation="per_decision"))
    assert ours.expected_accuracy >= paper.expected_accuracy - 1e-4


@pytest.mark.parametrize(
    ("workers", "group", "load_qps"), [(1, 1, 40.0), (1, 1, 90.0), (1, 1, 140.0), (4, 1, 440.0), (4, 3, 520.0)]
)
def test_bounds_hold_where_latency_is_random(workers: int, group: int, load_qps: float) -> None:
    solved = random_problem(load_qps, workers, group)
    table = solve_per_query(solved)
    seen = observe(table, solved)
    accuracy, accuracy_error = seen.mean_and_error(seen.accuracy)
    late, late_error = seen.mean_and_error(seen.late)
    assert late <= table.expected_violation_rate + 3 * late_error
    assert accuracy / (1 - late) >= table.expected_accuracy - 3 * accuracy_error


@pytest.mark.parametrize(("improvements", "evaluations"), [(1, 8), (2, 8), (30, 0)])
def test_a_table_that_did_not_settle_says_so_and_keeps_its_bounds(
    improvements: int, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_iteration, "MOST_IMPROVEMENTS", improvements)
    monkeypatch.setattr(policy_iteration, "MOST_EVALUATIONS", evaluations)
    solved = problem(workers=4, load_qps=440.0, slack_steps=100, lengths=16)
    table = solve(solved)
    assert not table.settled
    assert not DecisionTable.from_arrays(table.arrays()).settled
    seen = observe(table, solved)
    accuracy, accuracy_error = seen.mean_and_error(seen.accuracy)
    late, late_error = seen.mean_and_error(seen.late)
    assert late <= table.expected_violation_rate + 3 * late_error
    assert accuracy >= table.expected_accuracy - 3 * accuracy_error


def test_tables_settle_at_every_load() -> None:
    for load_qps in (10.0, 200.0, 480.0, 520.0, 600.0):
        assert solve(problem(workers=4, load_qps=load_qps, lengths=16)).settled


def costly_start() -> WorkerProblem:
    """Variants for which a batch of several costs little more than one."""
    rows = np.arange(1, 9)
    latency_s = tuple(tuple((base + slope * rows) / 1e3) for base, slope in ((15.0, 2.0), (35.0, 4.0), (55.0, 7.0)))
    return WorkerProblem(("fast", "middle", "slow"), (0.6, 0.8, 0.9), latency_s, 0.1, 8, Poisson(350.0))


def test_groups_help_where_a_worker_alone_would_wait_long_for_a_batch() -> None:
    solved = costly_start()
    group, _ = best_group(solved)
    assert group > 1
    alone, grouped = solve_per_query(solved), solve_per_query(solved.grouped(group))
    assert grouped.expected_accuracy > alone.expected_accuracy + 0.005


def test_one_worker_and_bursty_arrivals_have_no_groups() -> None:
    assert best_group(problem(load_qps=100.0, workers=1))[0] == 1
    assert best_group(problem(workers=4, arrivals=NegativeBinomial(400.0, 3.0)))[0] == 1


def test_a_worker_waits_for_the_rest_of_its_group_but_never_into_lateness() -> None:
    solved = costly_start().grouped(4)
    table = solve_per_query(solved)
    phase = 1 / (4 * 4)  # one of the group of four came
    variant, _ = table.lookup(1, solved.slo_s, phase)
    assert variant == HOLD
    hold_s = table.hold_s(1, solved.slo_s, phase)
    assert 0.0 < hold_s < solved.slo_s
    then, _ = table.lookup(1, solved.slo_s - hold_s, phase)
    assert then != HOLD
    fastest_s = solved.latency_s[0][0]
    assert solved.latency_s[then][0] <= solved.slo_s - hold_s
    assert all(table.lookup(1, slack_s, phase)[0] != HOLD for slack_s in np.linspace(-0.05, fastest_s, 20))


def test_a_full_batch_waits_for_no_more_rows() -> None:
    """What is more than a batch takes is decided on anew after it: to wait would leave the worker idle."""
    small, large = ((0.0, *(base_s * (1.0 + 0.1 * rows) for rows in range(1, 5))) for base_s in (0.015, 0.03))
    candidates = (Candidate("small", 0.8, small), Candidate("large", 0.97, large))
    table = solve(WorkerProblem.of(candidates, 0.3, 2, Poisson(200.0)))
    assert (table.variant[:3] == HOLD).any(), "shorter queues wait"
    assert not (table.variant[3:] == HOLD).any()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("load_qps", [60.0, 400.0, 800.0])
def test_nobody_waits_where_that_gains_nothing(workers: int, load_qps: float) -> None:
    """With a single variant that has time for all, waiting and launching are worth the same but for rounding."""
    run_s = [0.0003 + 0.00002 * rows for rows in range(1, 65)]
    tail_s, mean_s = (0.0, *(1.5 * each + 0.006 for each in run_s)), (0.0, *(each + 0.003 for each in run_s))
    candidates = (Candidate("only", 0.75, tail_s, mean_s, 0.003),)
    table = solve(WorkerProblem.of(candidates, 0.5, workers, Poisson(load_qps * workers), late_share=0.05))
    assert not (table.variant == HOLD).any()


@pytest.mark.parametrize("mean", [1.0, 0.8])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_load_that_small_batches_bear_is_known_as_one(mean: float, workers: int) -> None:
    """With flat profiles, what is left over of a full batch does not cost another one: it joins what comes next."""
    runs = ((20.0, 0.5), (40.0, 1.0), (70.0, 2.0))
    tails_s = [(0.0, *((base + slope * rows) / 1e3 for rows in range(1, 9))) for base, slope in runs]
    candidates = tuple(
        Candidate(name, accuracy, tail_s, tuple(mean * each for each in tail_s) if mean < 1.0 else ())
        for name, accuracy, tail_s in zip(("fast", "middle", "slow"), (0.6, 0.75, 0.85), tails_s, strict=True)
    )
    load_qps = 0.85 * workers * 8 / (mean * tails_s[0][8])
    table = solve(
        WorkerProblem.of(candidates, 0.15, workers, Poisson(load_qps), late_share=0.05 if mean < 1.0 else 0.0)
    )
    assert table.expected_accuracy > 0.61
    assert table.expected_violation_rate < (0.06 if mean < 1.0 else 0.02)


def test_a_light_load_gets_the_most_accurate_variant() -> None:
    table = solve(problem(load_qps=0.5, workers=1))
    assert table.expected_accuracy == pytest.approx(0.9, abs=0.005)
    assert table.variants[table.lookup(1, 0.1)[0]] == "slow"


def test_an_overload_is_served_fast_and_expected_to_be_late() -> None:
    table = solve(problem(load_qps=1000.0, workers=1))
    assert table.expected_violation_rate > 0.9
    assert table.expected_accuracy < 0.1
    assert table.variants[table.lookup(8, -0.01)[0]] == "fast"


def test_accuracy_falls_and_violations_stay_rates_over_the_whole_range_of_loads() -> None:
    tables = [solve(problem(load_qps=load_qps, workers=1)) for load_qps in (1, 10, 50, 100, 150, 300)]
    accuracies = [table.expected_accuracy for table in tables]
    assert accuracies == sorted(accuracies, reverse=True)
    assert all(0.0 <= table.expected_violation_rate <= 1.0 for table in tables)


def test_one_variant_and_a_queue_of_one_are_enough() -> None:
    table = solve(WorkerProblem(("only",), (0.8,), ((0.02,),), 0.1, 2, Poisson(20.0)))
    assert table.expected_accuracy == pytest.approx(0.8, abs=0.05)
    assert table.lookup(5, 0.1, 0.5) == (0, 1)


def test_tables_of_two_runs_are_bit_identical() -> None:
    solved = problem(load_qps=300.0, workers=3)
    first, second = (solve(solved).arrays() for _ in range(2))
    assert {name: array.tobytes() for name, array in first.items()} == {n: a.tobytes() for n, a in second.items()}


@pytest.mark.parametrize("change", [{"batching": "variable"}, {"balancing": "shortest_queue"}])
def test_what_has_no_process_per_query_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="use formulation 'per_decision'"):
        solve(replace(problem(), **change))
