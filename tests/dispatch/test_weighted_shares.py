"""Jobs in proportion to shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.weighted_shares import WeightedShares

SHARES = st.lists(st.one_of(st.integers(1, 9), st.floats(1e-3, 1.0)), min_size=1, max_size=9)


def loads(*workers: str) -> list[WorkerLoad]:
    return [WorkerLoad(worker) for worker in workers]


def picked(balancer: WeightedShares, of: list[WorkerLoad], count: int) -> list[str]:
    return [of[balancer.pick(of, 0.0)].worker for _ in range(count)]


def test_a_history_worked_out_by_hand() -> None:
    # 3 : 1 with two shares, so d = 1/2: turns of a are due at 2/3, 2, 10/3, 14/3, those of b at 2, 6
    balancer = WeightedShares({"a": 3, "b": 1})
    assert picked(balancer, loads("a", "b"), 8) == ["a", "a", "b", "a"] * 2


@given(SHARES)
def test_after_any_number_of_picks_everyone_has_its_share_give_or_take_one(shares: list[float]) -> None:
    workers = [f"w{number}" for number in range(len(shares))]
    balancer = WeightedShares(dict(zip(workers, shares, strict=True)))
    off_by = 1 - 1 / (2 * len(shares) - 2) if len(shares) > 1 else 0.0
    counts = dict.fromkeys(workers, 0)
    for number, worker in enumerate(picked(balancer, loads(*workers), 300), 1):
        counts[worker] += 1
        for own, share in zip(workers, shares, strict=True):
            assert abs(counts[own] - number * share / sum(shares)) <= off_by + 1e-6


def test_shares_converge() -> None:
    shares = {"a": 0.61, "b": 0.27, "c": 0.12}
    order = picked(WeightedShares(shares), loads(*shares), 10_000)
    for worker, share in shares.items():
        assert order.count(worker) / 10_000 == pytest.approx(share, abs=1e-4)


def test_many_small_shares_come_between_the_turns_of_a_large_one() -> None:
    small = [f"s{number:02}" for number in range(50)]
    order = picked(WeightedShares({"large": 50.0} | dict.fromkeys(small, 1.0)), loads("large", *small), 100)
    assert "large large large" not in " ".join(order)


def test_shares_of_the_workers_present_count_in_proportion() -> None:
    balancer = WeightedShares({"a": 0.2, "b": 0.1, "gone": 0.7})
    order = picked(balancer, loads("a", "b", "without"), 30)
    assert [order.count(worker) for worker in ("a", "b", "without")] == [20, 10, 0]


def test_where_nobody_has_a_share_all_have_the_same() -> None:
    order = picked(WeightedShares({"a": 0.0}), loads("a", "b", "c"), 9)
    assert [order.count(worker) for worker in "abc"] == [3, 3, 3]


def test_turns_go_on_where_the_workers_are_the_same_and_begin_anew_where_they_are_not() -> None:
    balancer = WeightedShares({"a": 1, "b": 1, "c": 2})
    assert [picked(balancer, loads("a", "b"), 1) for _ in range(4)] == [["a"], ["b"], ["a"], ["b"]]
    order = picked(balancer, loads("a", "b", "c"), 8)
    assert [order.count(worker) for worker in "abc"] == [2, 2, 4]
    assert set(picked(balancer, loads("b"), 3)) == {"b"}


def test_a_group_has_the_sum_of_its_shares_and_gives_to_who_has_least_to_do() -> None:
    balancer = WeightedShares(
        {"a1": 0.3, "a2": 0.1, "b1": 0.2, "c": 0.4}, {"a1": "a", "a2": "a", "b1": "b", "unknown": "b"}
    )
    busy = [WorkerLoad("a1", queued_rows=2), WorkerLoad("a2", running_rows=1), WorkerLoad("b1", 9), WorkerLoad("c", 9)]
    order = picked(balancer, busy, 10)
    assert [order.count(load.worker) for load in busy] == [0, 4, 2, 4]


def test_of_equals_in_a_group_the_one_that_was_not_picked_for_longest_is_next() -> None:
    balancer = WeightedShares(dict.fromkeys("abc", 1.0), dict.fromkeys("abc", "all"))
    of = loads("a", "b", "c")
    assert picked(balancer, of, 5) == ["a", "b", "c", "a", "b"]
    of[2].queued_rows = 1
    assert picked(balancer, of, 3) == ["a", "b", "a"]
    of[2].queued_rows = 0
    assert picked(balancer, of, 2) == ["c", "b"]


@pytest.mark.parametrize("share", [-0.1, float("inf"), float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"share of worker 'a' is .*; give a number from 0"):
        WeightedShares({"a": share})


def test_there_is_no_phase() -> None:
    balancer = WeightedShares({"a": 1})
    balancer.pick(loads("a"), 0.0)
    assert balancer.phase(0) == 0.0
