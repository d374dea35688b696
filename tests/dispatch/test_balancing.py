"""Who gets the next job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.bin_packing import BinPacking
from dispatch.balancing.registry import create_balancer
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.shortest_queue import ShortestQueue


def loads(*rows: int) -> list[WorkerLoad]:
    return [WorkerLoad(str(i), queued_rows=n) for i, n in enumerate(rows)]


def test_round_robin_gives_every_worker_every_kth_job() -> None:
    balancer = RoundRobin()
    assert [balancer.pick(loads(5, 0, 9), 0.0) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_goes_on_when_workers_leave() -> None:
    balancer = RoundRobin()
    for _ in range(3):
        balancer.pick(loads(0, 0, 0, 0), 0.0)
    assert balancer.pick(loads(0, 0), 0.0) in (0, 1)


def test_shortest_queue_counts_running_rows_too() -> None:
    busy = WorkerLoad("0", queued_rows=1, running_rows=4)
    assert ShortestQueue().pick([busy, WorkerLoad("1", queued_rows=3)], 0.0) == 1


def test_shortest_queue_shares_an_idle_cluster_out() -> None:
    balancer = ShortestQueue()
    assert [balancer.pick(loads(0, 0, 0), 0.0) for _ in range(6)] == [0, 1, 2, 0, 1, 2]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=10))
def test_shortest_queue_never_picks_a_longer_one(rows: list[int]) -> None:
    assert rows[ShortestQueue().pick(loads(*rows), 0.0)] == min(rows)


def test_round_robin_gives_groups_of_the_size_that_holds_when_a_turn_begins() -> None:
    balancer = RoundRobin(lambda now_s, workers: 2 if now_s < 1.0 else 3)
    assert [balancer.pick(loads(0, 0), 0.0) for _ in range(4)] == [0, 0, 1, 1]
    assert balancer.pick(loads(0, 0), 0.9) == 0
    assert balancer.phase(0) == 1 / 4
    assert [balancer.pick(loads(0, 0), 2.0) for _ in range(3)] == [0, 1, 1]
    assert [balancer.pick(loads(0, 0), 2.0) for _ in range(6)] == [0, 0, 0, 1, 1, 1]
    assert [balancer.phase(0), balancer.phase(1)] == [0.0, 3 / 6]


def test_the_phase_is_the_share_of_the_turn_since_a_workers_own_began() -> None:
    balancer = RoundRobin()
    assert balancer.pick(loads(0, 0, 0), 0.0) == 0
    assert [3 * balancer.phase(worker) for worker in range(3)] == [1, 0, 2]  # worker 1 is next, worker 2 after one more
    for _ in range(2):
        balancer.pick(loads(0, 0, 0), 0.0)
    assert [3 * balancer.phase(worker) for worker in range(3)] == [0, 2, 1]


def test_a_single_worker_is_always_next() -> None:
    balancer = RoundRobin()
    for _ in range(3):
        assert balancer.pick(loads(0), 0.0) == 0
        assert balancer.phase(0) == 0


def test_there_are_no_turns_where_the_shortest_queue_is_joined() -> None:
    balancer = ShortestQueue()
    balancer.pick(loads(0, 0), 0.0)
    assert [balancer.phase(0), balancer.phase(1)] == [0, 0]


def test_central_balancing_has_no_balancer() -> None:
    assert create_balancer("central") is None


def test_an_unknown_balancer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigError, match="unknown balancing 'random'; known: round_robin, shortest_queue, bin_packing, central"
    ):
        create_balancer("random")


def test_bin_packing_takes_the_idle_worker_with_the_fewest_slots() -> None:
    idle = [WorkerLoad("0", slots=8), WorkerLoad("1", slots=4), WorkerLoad("2", slots=4)]
    assert BinPacking().pick(idle, 0.0) == 1
    assert create_balancer("bin_packing") is not None
