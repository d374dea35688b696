"""Who gets the next job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConfigError
from dispatch.balancing.balancer import WorkerLoad
from dispatch.balancing.registry import create_balancer
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.shortest_queue import ShortestQueue


def loads(*rows: int) -> list[WorkerLoad]:
    return [WorkerLoad(str(i), queued_rows=n) for i, n in enumerate(rows)]


def test_round_robin_gives_every_worker_every_kth_job() -> None:
    balancer = RoundRobin()
    assert [balancer.pick(loads(5, 0, 9)) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_goes_on_when_workers_leave() -> None:
    balancer = RoundRobin()
    for _ in range(3):
        balancer.pick(loads(0, 0, 0, 0))
    assert balancer.pick(loads(0, 0)) in (0, 1)


def test_shortest_queue_counts_running_rows_too() -> None:
    busy = WorkerLoad("0", queued_rows=1, running_rows=4)
    assert ShortestQueue().pick([busy, WorkerLoad("1", queued_rows=3)]) == 1


def test_shortest_queue_shares_an_idle_cluster_out() -> None:
    balancer = ShortestQueue()
    assert [balancer.pick(loads(0, 0, 0)) for _ in range(6)] == [0, 1, 2, 0, 1, 2]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=10))
def test_shortest_queue_never_picks_a_longer_one(rows: list[int]) -> None:
    assert rows[ShortestQueue().pick(loads(*rows))] == min(rows)


def test_an_unknown_balancer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown balancing 'random'; known: round_robin, shortest_queue"):
        create_balancer("random")
