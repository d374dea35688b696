"""The variant that batching policies batch for, and queries of several rows."""

import pytest

from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.batching.window import settled
from dispatch.selection.policy import Candidate, Choice, Drop, QueueView, SelectionPolicy

BEST = Candidate("best", 0.95, (0.0, 0.2))
GOOD = Candidate("good", 0.9, (0.0, 0.05))
FAST = Candidate("fast", 0.8, (0.0, 0.03))


def view(allowed_s: float, *candidates: Candidate) -> QueueView:
    return QueueView(10.0, 1, 10.0 + allowed_s, candidates, first_arrival_s=10.0)


@pytest.mark.parametrize(
    ("allowed_s", "variant"), [(0.4, "best"), (0.39, "good"), (0.1, "good"), (0.09, "fast"), (0.01, "fast")]
)
def test_the_most_accurate_that_takes_half_of_the_time_allowed_or_the_fastest(allowed_s: float, variant: str) -> None:
    assert settled(view(allowed_s, BEST, GOOD, FAST)).variant == variant


def test_a_worker_with_one_variant_has_no_choice() -> None:
    assert settled(view(0.01, BEST)) is BEST


@pytest.mark.parametrize("policy", [AdaptiveBatching(), EarlyDrop(), AdditiveIncrease()])
def test_policies_serve_where_the_best_variant_never_could(policy: SelectionPolicy) -> None:
    assert policy.choose(view(0.1, BEST, GOOD)) == Choice("good", 1, None if policy.name != "aimd" else 1.0)


def test_a_query_is_not_cut_in_two() -> None:
    linear = Candidate("only", 0.9, tuple(0.01 * rows for rows in range(9)))
    urgent = QueueView(10.0, 8, 10.045, (linear,), first_arrival_s=10.0, first_rows=8)
    assert AdaptiveBatching().choose(urgent) == Drop(1)  # all eight rows of one query, 80 ms, in 45
    assert AdaptiveBatching().choose(urgent._replace(first_rows=4)) == Choice("only", 4)
