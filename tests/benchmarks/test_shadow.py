"""Shadow runs in virtual time: what they cost queries, and what they find."""

import numpy as np
import pytest

from benchmarks.shadow.simulated import (
    REFERENCE,
    SLO_S,
    VotesHeard,
    candidate,
    detect,
    digits_votes,
    endpoint,
    play,
    rules,
)

VOTES = digits_votes()
PAIR = ("digits-cnn-s", REFERENCE)
RUN_S = candidate(VOTES, REFERENCE).latency_s[1]


def both(load_qps: float, seconds: float, share: float, workers: int, only: str | None = PAIR[0]):
    """The same queries without and with shadow runs."""
    found = []
    for shadow in (None, rules(VOTES, share, seed=3)):
        plan = endpoint(VOTES, PAIR, only, shadow)
        found.append(play(VOTES, plan, VotesHeard(VOTES, "", 3), load_qps, seconds, 3, workers))
    return found


def test_a_query_is_delayed_by_one_shadow_run_at_most_and_in_time_all_the_same() -> None:
    (without, _), (with_runs, shadow) = both(load_qps=25.0, seconds=80.0, share=0.5, workers=1)
    assert shadow is not None
    assert shadow.compared > 300
    delays_s = (with_runs.done_s - without.done_s)[np.argsort(without.arrival_s)]
    assert delays_s.max() > 0.5 * RUN_S, "else nothing is tested"
    assert np.quantile(delays_s, 0.99) <= RUN_S + 1e-9
    late_without, late_with = ((each.done_s > each.deadline_s).sum() for each in (without, with_runs))
    assert late_with == late_without == 0
    assert (with_runs.batches.accuracy[with_runs.batch] == VOTES.accuracies[PAIR[0]]).all()


@pytest.mark.parametrize("workers", [1, 4])
def test_under_load_shadow_runs_are_dropped_and_no_more_deadlines_are_missed(workers: int) -> None:
    fastest = candidate(VOTES, PAIR[0])
    capacity_qps = workers * fastest.max_batch / fastest.latency_s[fastest.max_batch]
    (without, _), (with_runs, shadow) = both(1.2 * capacity_qps, 4.0, share=0.05, workers=workers)
    assert shadow is not None
    assert shadow.dropped > 0.9 * shadow.drawn > 0
    late_without, late_with = ((each.done_s > each.deadline_s).mean() for each in (without, with_runs))
    assert late_with <= late_without + 0.002


def test_at_the_share_of_the_default_selection_loses_nothing() -> None:
    (without, _), (with_runs, shadow) = both(100.0, 30.0, share=0.01, workers=2, only=None)
    assert shadow is not None
    accuracy_without, accuracy_with = (each.batches.accuracy[each.batch].mean() for each in (without, with_runs))
    assert accuracy_with >= accuracy_without - 5e-4
    assert (with_runs.done_s - with_runs.arrival_s).max() <= SLO_S


def test_a_broken_variant_is_found_within_2000_of_its_queries_and_a_good_one_is_left_alone() -> None:
    for variant in ("digits-mlp", "digits-cnn-m"):
        for seed in range(2):
            sick = detect(VOTES, variant, True, 2500, seed)
            found = sick.found_after[variant]
            assert found is not None
            assert found <= 2000
            low, high = sick.live[variant]
            assert low <= sick.truth[variant] <= high
            assert detect(VOTES, variant, False, 2500, seed).found_after[variant] is None


def test_the_same_seed_gives_the_same_run() -> None:
    assert detect(VOTES, "digits-cnn-s", True, 1500, 7) == detect(VOTES, "digits-cnn-s", True, 1500, 7)
