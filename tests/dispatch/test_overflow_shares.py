"""Shares while there is room, and who gets the rest."""

from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.overflow_shares import OverflowShares
from dispatch.balancing.weighted_shares import WeightedShares

SHARES = {"a": 0.75, "b": 0.25}


def loads(a: int = 0, b: int = 0, slots: int = 4) -> list[WorkerLoad]:
    return [WorkerLoad("a", a, 0, slots), WorkerLoad("b", b, 0, 2 * slots)]


def picks(balancer: WeightedShares, of: list[WorkerLoad], count: int) -> list[int]:
    return [balancer.pick(of, 0.0) for _ in range(count)]


def test_with_room_everybody_gets_their_share() -> None:
    same = loads(3, 3)
    assert picks(OverflowShares(SHARES), same, 40) == picks(WeightedShares(SHARES), same, 40)


def test_what_finds_a_full_window_goes_to_the_least_full_and_back_once_there_is_room() -> None:
    balancer, of = OverflowShares(SHARES), loads(4, 1)
    assert picks(balancer, of, 8) == [1] * 8
    of[0].queued_rows = 3
    assert 0 in picks(balancer, of, 4)


def test_a_window_is_the_workers_own_largest_batch() -> None:
    of = loads(4, 7)
    assert set(picks(OverflowShares(SHARES), of, 8)) == {1}, "7 of 8 is less full than 4 of 4"
    of[1].running_rows = 8
    assert set(picks(OverflowShares({"a": 1.0}), of, 8)) == {0}


def test_overflow_goes_to_workers_without_a_share_too() -> None:
    assert set(picks(OverflowShares({"a": 1.0}), loads(4, 0), 4)) == {1}


def test_one_worker_gets_everything() -> None:
    assert picks(OverflowShares({"a": 1.0}), [WorkerLoad("a", 99, 9, 4)], 3) == [0, 0, 0]
