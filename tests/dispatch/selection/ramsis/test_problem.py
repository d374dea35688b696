"""What a problem is made of."""

import pytest

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import Poisson
from dispatch.selection.ramsis.launches import Launches
from dispatch.selection.ramsis.pareto import pareto_front
from dispatch.selection.ramsis.problem import WorkerProblem
from ramsis_scene import problem


def candidate(name: str, accuracy: float, *latency_s: float) -> Candidate:
    return Candidate(name, accuracy, (0.0, *latency_s))


FAST, SLOW = candidate("fast", 0.6, 0.01, 0.02, 0.03), candidate("slow", 0.9, 0.05, 0.09)
DOMINATED = candidate("dominated", 0.6, 0.02, 0.03)
TOO_SLOW = candidate("too-slow", 0.95, 0.2)


def test_variants_that_another_beats_in_both_are_pruned() -> None:
    assert pareto_front([SLOW, DOMINATED, FAST]) == [FAST, SLOW]


def test_a_flat_profile_that_is_better_in_large_batches_stays() -> None:
    steep = candidate("steep", 0.7, 0.010, 0.020, 0.030, 0.040)
    flat = candidate("flat", 0.6, 0.012, 0.013, 0.014, 0.015)
    assert pareto_front([flat, steep]) == [steep, flat]
    made = WorkerProblem.of((flat, steep), 0.05, 1, Poisson(10.0))
    assert made.variants == ("steep", "flat")
    assert made.max_queue_rows == 32
    nearly = candidate("nearly", 0.6, 0.012, 0.020, 0.030, 0.040)
    assert pareto_front([nearly, steep]) == [steep]


def test_a_variant_that_takes_larger_batches_is_not_beaten_there() -> None:
    small, large = candidate("small", 0.7, 0.010, 0.011), candidate("large", 0.6, 0.010, 0.011, 0.012)
    assert pareto_front([large, small]) == [large, small]
    assert pareto_front([candidate("large", 0.7, 0.010, 0.011, 0.012), small]) == [
        candidate("large", 0.7, 0.010, 0.011, 0.012)
    ]


def test_a_variant_whose_mean_is_better_stays() -> None:
    tail = Candidate("tail", 0.7, (0.0, 0.01), mean_s=(0.0, 0.009))
    mean = Candidate("mean", 0.6, (0.0, 0.02), mean_s=(0.0, 0.005))
    assert pareto_front([mean, tail]) == [tail, mean]


def test_of_equals_the_first_by_name_stays() -> None:
    twin = candidate("alike", 0.6, 0.01, 0.02, 0.03)
    assert pareto_front([FAST, twin]) == [twin]


def test_variants_that_never_meet_the_objective_are_left_out() -> None:
    made = WorkerProblem.of((TOO_SLOW, SLOW, DOMINATED, FAST), 0.1, 2, Poisson(10.0))
    assert made.variants == ("fast", "slow")
    assert made.accuracies == (0.6, 0.9)
    assert made.latency_s[0][:7] == pytest.approx((0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07))
    assert made.latency_s[1][:4] == pytest.approx((0.05, 0.09, 0.135, 0.18)), "two at once, then as much for each"
    whole = made.in_whole_batches()
    assert whole.latency_s[0] == pytest.approx(made.latency_s[0])
    assert whole.latency_s[1][:6] == pytest.approx((0.05, 0.09, 0.14, 0.18, 0.23, 0.27)), "what is left over runs alone"
    assert made.max_queue_rows == 32


def test_queues_are_told_apart_up_to_twice_what_is_served_in_time() -> None:
    quick = candidate("quick", 0.6, *(0.001 * n for n in range(1, 65)))
    assert WorkerProblem.of((quick,), 0.05, 1, Poisson(1.0)).max_queue_rows == 100
    assert WorkerProblem.of((quick,), 0.05, 1, Poisson(1.0), max_queue_rows=40).max_queue_rows == 40
    assert WorkerProblem.of((quick,), 5.0, 1, Poisson(1.0)).max_queue_rows == 250


def test_where_none_meets_the_objective_the_fastest_stays() -> None:
    assert WorkerProblem.of((TOO_SLOW, SLOW), 0.01, 1, Poisson(1.0)).variants == ("slow",)


@pytest.mark.parametrize(("workers", "slo_s"), [(0, 0.1), (1, 0.0), (1, float("nan"))])
def test_nonsense_is_refused(workers: int, slo_s: float) -> None:
    with pytest.raises(ValueError, match="both must be positive"):
        WorkerProblem.of((FAST,), slo_s, workers, Poisson(1.0))


@pytest.mark.parametrize("load_qps", [0.0, -1.0, float("inf"), float("nan")])
def test_a_load_that_no_table_is_for_is_refused(load_qps: float) -> None:
    with pytest.raises(ValueError, match=f"a load of {load_qps:g} queries/s; give a positive one"):
        WorkerProblem.of((FAST,), 0.1, 1, Poisson(load_qps))


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="give at least one candidate"):
        WorkerProblem.of((), 0.1, 1, Poisson(1.0))


def test_another_load_changes_nothing_else() -> None:
    assert problem(50.0).at_load(70.0) == problem(70.0)


def test_launches_come_by_batch_size_and_the_fastest_first() -> None:
    launches = Launches.of(problem(lengths=8))
    assert launches.rows.tolist() == sorted(launches.rows.tolist())
    assert launches.rows[launches.starts].tolist() == list(range(1, 9))
    by_size = {n: launches.variant[launches.rows == n].tolist() for n in (1, 2, 7)}
    assert by_size == {1: [0, 1, 2], 2: [0, 1, 2], 7: [0]}  # 10 + 80 ms is in time, 6 + 98 is not


def test_mean_run_times_enter_beside_those_that_must_fit_into_the_slack() -> None:
    varying = Candidate("fast", 0.6, (0.0, 0.01, 0.02), mean_s=(0.0, 0.006, 0.011))
    made = WorkerProblem.of((varying, SLOW), 0.1, 2, Poisson(10.0), late_share=0.05)
    assert made.late_share == 0.05
    assert made.busy_s[0][:4] == pytest.approx((0.006, 0.011, 0.0165, 0.022))
    assert made.in_whole_batches().busy_s[0][:4] == pytest.approx((0.006, 0.011, 0.017, 0.022))
    assert made.in_whole_batches().latency_s == made.latency_s
    assert made.busy_s[1] == made.latency_s[1], "this one does not vary"
    assert [len(row) for row in made.up_to(5).busy_s] == [len(row) for row in made.up_to(5).latency_s] == [5, 5]
    certain = WorkerProblem.of((FAST, SLOW), 0.1, 2, Poisson(10.0))
    assert certain.busy_s == ()
    assert certain.duration_s == certain.latency_s


@pytest.mark.parametrize("late_share", [-0.1, 1.0, float("nan")])
def test_a_share_of_late_batches_that_is_none_is_refused(late_share: float) -> None:
    with pytest.raises(ValueError, match="give a share of batches from 0 to below 1"):
        WorkerProblem.of((FAST,), 0.1, 1, Poisson(1.0), late_share=late_share)


def test_later_batches_of_a_queue_need_what_comes_before_them_less_when_their_rows_came() -> None:
    """Against the batches one by one: each starts after the mean runs of those before, and has the deadline of its
    first row."""
    tail_s, mean_s, most, load_qps, workers = (0.0, 0.030, 0.040, 0.050), (0.0, 0.020, 0.026, 0.032), 3, 150.0, 2
    candidate = Candidate("v", 0.9, tail_s, mean_s=mean_s)
    whole = WorkerProblem.of((candidate,), 0.2, workers, Poisson(load_qps), max_queue_rows=11, late_share=0.03)
    staggered = whole.staggered()
    for rows in range(1, 12):
        sizes = [most] * (rows // most) + ([rows % most] if rows % most else [])
        needed_s, start_s, first_row = 0.0, 0.0, 0
        for size in sizes:
            arrived_s = first_row * workers / load_qps  # after the first row; its deadline is as much later
            needed_s = max(needed_s, start_s + tail_s[size] - arrived_s)
            start_s += mean_s[size]
            first_row += size
        assert staggered.latency_s[0][rows - 1] == pytest.approx(needed_s), rows
    assert staggered.busy_s == whole.busy_s


def test_where_latency_does_not_vary_nothing_is_staggered() -> None:
    certain = WorkerProblem.of((Candidate("v", 0.9, (0.0, 0.03, 0.04)),), 0.2, 2, Poisson(50.0))
    assert certain.staggered() is certain


def test_late_queues_go_to_the_variant_that_is_done_first_on_average() -> None:
    steady = Candidate("steady", 0.6, (0.0, 0.030, 0.060), (0.0, 0.028, 0.056))
    varying = Candidate("varying", 0.8, (0.0, 0.035, 0.070), (0.0, 0.020, 0.120))
    made = WorkerProblem.of((steady, varying), 0.1, 1, Poisson(1.0), max_queue_rows=4, late_share=0.01)
    launches = Launches.of(made)
    assert launches.variant[launches.shortest].tolist() == [1, 0, 0, 0]
    assert launches.variant[launches.rows == 1].tolist() == [0, 1], "still by latency"
