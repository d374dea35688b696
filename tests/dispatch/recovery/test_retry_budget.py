"""What may be launched again: a share of what was launched, some always, and all is forgotten in time."""

import pytest

from dispatch.recovery.retry_budget import ALWAYS, SHARE, WINDOW_S, RetryBudget


def test_a_few_jobs_may_always_be_launched_again() -> None:
    budget = RetryBudget()
    taken = 0
    while budget.take(1, 5.0):
        taken += 1
    assert taken == ALWAYS


def test_a_batch_is_launched_again_whole_however_large() -> None:
    budget = RetryBudget()
    assert budget.take(10 * int(ALWAYS), 0.0)
    assert not budget.take(1, 0.0)


def test_an_empty_budget_is_filled_by_time_alone() -> None:
    budget = RetryBudget()
    budget.take(int(ALWAYS), 0.0)
    assert not budget.take(1, 0.0)
    assert budget.take(1, 1.0)
    assert not budget.take(1000, 1.0) or not budget.take(1, 1.0)


@pytest.mark.parametrize("launched_qps", [20, 1000])
def test_in_the_long_run_a_share_of_the_launches_may_be_launched_again_and_a_few_a_second(launched_qps: int) -> None:
    budget, taken = RetryBudget(), 0
    seconds = 200
    for tenth in range(10 * seconds):
        now_s = tenth / 10
        budget.launched += launched_qps // 10
        budget.settle(now_s)
        while budget.take(1, now_s):
            taken += 1
    assert taken / seconds == pytest.approx(SHARE * launched_qps + ALWAYS / WINDOW_S, rel=0.1)


def test_what_was_launched_long_ago_counts_for_nothing() -> None:
    budget = RetryBudget()
    budget.launched = 100_000
    budget.settle(0.0)
    taken = 0
    while budget.take(1, 20 * WINDOW_S):
        taken += 1
    assert taken == pytest.approx(ALWAYS, abs=2)
