"""Which variant serves which load, by hand."""

from math import inf

import pytest

from dispatch.selection.load_ladder import LoadLadder, Rung, adaptive_batch
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
    assert made.rungs == (Rung(100.0, "slow", 2), Rung(400.0, "fast", 4), Rung(inf, "fast", 5))
    assert [made.at(load).variant for load in (0.0, 99.9, 100.0, 399.9, 400.0)] == ["slow"] * 2 + ["fast"] * 3
    assert [made.at(load).max_rows for load in (399.9, 400.0, 1e9)] == [4, 5, 5]


def test_a_variant_that_bears_no_more_than_a_better_one_is_left_out() -> None:
    assert ladder(slow=400.0, fast=400.0).rungs == (Rung(400.0, "slow", 2), Rung(inf, "fast", 5))
    assert ladder(slow=inf, fast=400.0).rungs == (Rung(inf, "slow", 2),)
    assert ladder().rungs == (Rung(inf, "fast", 5),)


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


def test_where_the_variant_is_not_held_the_greedy_policy_decides() -> None:
    assert ladder(slow=100.0).choose(view(3, 50.0, candidates=(FAST,))) == Choice("fast", 3)


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="no variants"):
        LoadLadder.of("by_load", 1, (), SLO_S, {})
