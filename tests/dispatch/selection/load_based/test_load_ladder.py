"""Which variant serves which load, by hand."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dispatch.latency.estimate import LatencyEstimate
from dispatch.selection.load_based.load_ladder import LoadLadder, Rung, adaptive_batch
from dispatch.selection.policy import Candidate, Choice, QueueView

FAST = Candidate("fast", 0.7, (0.0, 0.010, 0.014, 0.018, 0.030, 0.060))
SLOW = Candidate("slow", 0.9, (0.0, 0.030, 0.050, 0.090))
SLO_S = 0.1


def ladder(**below_qps: float) -> LoadLadder:
    return LoadLadder.of("by_load", 10, (FAST, SLOW), SLO_S, below_qps)


def view(rows: int, load_qps: float, workers: int = 10, candidates: tuple[Candidate, ...] = (SLOW, FAST)) -> QueueView:
    return QueueView(1.0, rows, 1.0 + SLO_S, candidates, load_qps, workers)


def test_a_batch_takes_at_most_half_the_objective() -> None:
    assert adaptive_batch(FAST, SLO_S) == 4
    assert adaptive_batch(SLOW, SLO_S) == 2  # exactly half
    assert adaptive_batch(SLOW, 0.01) == 1  # there is nothing smaller


def test_the_most_accurate_variant_that_bears_the_load_serves_it() -> None:
    made = ladder(slow=100.0, fast=400.0)
    assert made.rungs == (
        Rung(100.0, "slow", 2, 0.050, 0.050, 0.050),
        Rung(400.0, "fast", 4, 0.030, 0.030, 0.030),
        Rung(inf, "fast", 5, 0.060, 0.060, 0.060),
    )
    assert [made.at(load).variant for load in (0.0, 99.9, 100.0, 399.9, 400.0)] == ["slow"] * 2 + ["fast"] * 3
    assert [made.at(load).max_rows for load in (399.9, 400.0, 1e9)] == [4, 5, 5]


def test_a_variant_that_bears_no_more_than_a_better_one_is_left_out() -> None:
    beyond = Rung.of(FAST, inf, max_rows=5)
    assert ladder(slow=400.0, fast=400.0).rungs == (Rung.of(SLOW, 400.0, max_rows=2), beyond)
    assert ladder(slow=inf, fast=400.0).rungs == (Rung.of(SLOW, inf, max_rows=2),)
    assert ladder().rungs == (beyond,)


def test_a_choice_depends_on_the_load_and_not_on_the_slack() -> None:
    made = ladder(slow=100.0, fast=400.0)
    assert made.choose(view(7, 50.0)) == Choice("slow", 2)
    assert made.choose(view(1, 50.0)) == Choice("slow", 1)
    assert made.choose(view(7, 50.0)._replace(earliest_deadline_s=-5.0)) == Choice("slow", 2)
    assert made.choose(view(7, 200.0)) == Choice("fast", 4)
    assert made.choose(view(7, 500.0)) == Choice("fast", 5)


def test_with_other_workers_the_load_per_worker_decides() -> None:
    made = ladder(slow=100.0, fast=400.0)
    assert made.choose(view(1, 40.0, workers=5)).variant == "slow"
    assert made.choose(view(1, 60.0, workers=5)).variant == "fast"


def times(candidate: Candidate, factor: float) -> Candidate:
    return replace(candidate, latency_s=tuple(factor * time_s for time_s in candidate.latency_s))


def test_a_worker_that_is_slower_than_planned_bears_so_much_less() -> None:
    """Both twice as slow: the rungs end at half the load."""
    slower = (times(SLOW, 2.0), times(FAST, 2.0))
    made = ladder(slow=100.0, fast=400.0)
    chosen = [made.choose(view(7, load, candidates=slower)) for load in (49.0, 51.0, 99.0, 199.0)]
    assert chosen == [Choice("slow", 1), Choice("fast", 3), Choice("fast", 3), Choice("fast", 3)]
    assert made.choose(view(7, 201.0, candidates=slower)) == Choice("fast", 5)  # too much: as large as they come


def test_a_worker_that_is_faster_than_planned_bears_more_in_batches_no_larger() -> None:
    faster = (times(SLOW, 0.5), times(FAST, 0.5))
    made = ladder(slow=100.0, fast=400.0)
    assert made.choose(view(7, 199.0, candidates=faster)) == Choice("slow", 2)
    assert made.choose(view(7, 201.0, candidates=faster)) == Choice("fast", 4)


def test_each_variant_bears_as_much_less_as_it_is_slower() -> None:
    made = ladder(slow=100.0, fast=400.0)
    assert made.choose(view(7, 60.0, candidates=(times(SLOW, 2.0), FAST))) == Choice("fast", 4)
    assert made.choose(view(7, 60.0, candidates=(SLOW, times(FAST, 9.0)))) == Choice("slow", 2)
    assert made.choose(view(7, 60.0, candidates=(times(SLOW, 2.0),))) == Choice("slow", 3)  # greedy: the other is gone


@given(
    st.lists(st.floats(1.0, 1e4), min_size=1, max_size=3, unique=True).map(sorted),
    st.floats(0.1, 2e4),
    st.floats(0.2, 5.0),
)
def test_time_can_be_rescaled(limits_qps: list[float], load_qps: float, factor: float) -> None:
    """A worker c times slower under a load takes the variant of one as planned under c times the load."""
    offered = tuple(Candidate(f"v{n}", 0.9 - n / 10, times(FAST, 4.0 - n).latency_s) for n in range(4))
    below_qps = {candidate.variant: limit for candidate, limit in zip(offered, limits_qps, strict=False)}
    made = LoadLadder.of("by_load", 10, offered, SLO_S, below_qps)
    near = min(abs(load_qps * factor / limit - 1.0) for limit in limits_qps)
    assume(near > 1e-9)
    slower = tuple(times(candidate, factor) for candidate in offered)
    planned = made.choose(view(1, load_qps * factor, candidates=offered))
    assert made.choose(view(1, load_qps, candidates=slower)) == planned


def test_rungs_that_take_more_than_half_the_objective_on_purpose_stay_as_they_are() -> None:
    given_by_user = LoadLadder("load_ladder", 10, SLO_S, (Rung.of(SLOW, inf, max_rows=3),))
    assert given_by_user.choose(view(7, 60.0, candidates=(times(SLOW, 2.0),))) == Choice("slow", 3)


def test_where_the_variant_is_not_held_the_greedy_policy_decides() -> None:
    assert ladder(slow=100.0).choose(view(3, 50.0, candidates=(FAST,))) == Choice("fast", 3)


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="no variants"):
        LoadLadder.of("by_load", 1, (), SLO_S, {})


def test_where_feedback_leaves_a_share_of_the_slack_the_load_counts_for_more() -> None:
    made = ladder(slow=100.0, fast=400.0)
    assert made.choose(view(1, 60.0)).variant == "slow"
    assert made.choose(view(1, 60.0)._replace(slack_share=0.5)).variant == "fast"


@pytest.mark.parametrize("path_s", [0.0, 0.001, 0.03])
def test_a_ladder_by_hand_is_read_as_written_whatever_the_way_to_a_worker(path_s: float) -> None:
    """Its loads were tried on a service; a worker that runs as profiled bears them."""
    planned = Candidate("slow", 0.9, (0.0, 0.013, 0.016), (0.0, 0.012, 0.014), 0.01)
    other = Candidate("fast", 0.7, (0.0, 0.011, 0.012), (0.0, 0.011, 0.012), 0.01)
    rungs = (Rung.of(planned, 500.0, 2), Rung.of(other, inf, 2))
    by_hand = LoadLadder("load_ladder", 10, SLO_S, rungs, by_runs=True)
    for slower, limit_qps in ((1.0, 500.0), (2.0, 250.0)):
        estimate = LatencyEstimate(slower, 1.1, path_s, 1.5 * path_s, 0.003)
        here = tuple(estimate.corrected(each) for each in (planned, other))
        chosen = [by_hand.choose(view(1, limit_qps * near, candidates=here)).variant for near in (0.99, 1.01)]
        assert chosen == ["slow", "fast"]


def test_a_ladder_by_planned_latencies_knows_what_a_worker_bears_whose_next_batch_follows_at_once() -> None:
    planned = Candidate("slow", 0.9, (0.0, 0.030), (0.0, 0.030), 0.010)
    made = LoadLadder.of("by_load", 10, (planned, FAST), SLO_S, {"slow": 100.0, "fast": 400.0})
    (here,) = (LatencyEstimate(path_s=0.010, path_tail_s=0.010, typical_run_s=0.02).corrected(planned),)
    assert here.busy_s[1] < 0.022
    assert made.choose(view(1, 130.0, candidates=(here, FAST))).variant == "slow"
    assert made.choose(view(1, 150.0, candidates=(here, FAST))).variant == "fast"
