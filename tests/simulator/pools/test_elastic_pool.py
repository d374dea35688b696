"""Pools that grow and shrink in virtual time, by hand: reports at 1, 2, ... s, decisions at each, 2.5 s to start."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, SolveReport, Status
from autoscaler.loop.control_loop import ControlLoop
from autoscaler.loop.sizing import Sizing
from catalog.errors import ConfigError
from control_scene import NO_ANSWER, Recorded
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.pools.elastic_pool import ElasticPool, PoolSize, PoolTimes, worker_seconds
from simulator.record import Record

SLOW = Candidate("slow", 1.0, (0.0, 0.75))
WORKERS = ("w0", "w1", "w2", "w3")


def sized(workers: int) -> ClusterPlan:
    return ClusterPlan(pool_sizes={"cpu": workers}, report=SolveReport(Status.HEURISTIC, None, 0.0))


@dataclass
class Sizes:
    """Asks for one size after the other; for the last of them for ever."""

    sizes: list[int | None]
    name: str = "sizes"

    def __post_init__(self) -> None:
        self.seen: list[Observation] = []
        self._next: Iterator[int | None] = iter(self.sizes)

    def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
        self.seen.append(observation)
        size = next(self._next, self.sizes[-1])
        return NO_ANSWER if size is None else sized(size)


def play(
    initial: int, sizes: list[int | None], arrivals_s: list[float], shrink_after_s: float = 0.0
) -> tuple[Record, ElasticPool, Sizes]:
    planner = Sizes(sizes)
    endpoint = EndpointPlan.of_stage(
        "e", StagePlan({"cpu": (SLOW,)}, GreedySelection(), None), slo_s=10.0, max_queued_rows=100
    )
    plan, loop = Plan(1, {"e": endpoint}), ControlLoop(1.0, Recorded(), None, sized(initial))
    held, times = frozenset(["slow"]), PoolTimes(start_s=2.5)
    pool = ElasticPool(loop, planner, Sizing(shrink_after_s), plan, "cpu", WORKERS, held, times)
    host = Host(plan, dict.fromkeys(WORKERS, "cpu"), PlannedLatency(endpoint), pool)
    return host.run({"e": np.array(arrivals_s)}), pool, planner


def ran(record: Record) -> list[tuple[float, str]]:
    batches = record.batches
    return [(at_s, batches.workers[w]) for at_s, w in zip(batches.launched_s, batches.worker, strict=True)]


def test_each_worker_is_ready_its_own_time_after_it_was_asked_for() -> None:
    record, pool, _ = play(1, [2, 4], [0.0, 3.5, 3.5, 4.5, 4.5, 4.5])
    assert pool.sizes[:5] == [
        PoolSize(0.0, 1, 1),
        PoolSize(1.0, 2, 1),
        PoolSize(2.0, 4, 1),
        PoolSize(3.0, 4, 1),
        PoolSize(3.5, 4, 2),
    ]
    assert PoolSize(4.5, 4, 4) in pool.sizes
    # ready workers come before a query of the same instant
    assert sorted(ran(record)) == [
        (0.0, "w0"),
        (3.5, "w0"),
        (3.5, "w1"),
        (4.5, "w0"),
        (4.5, "w1"),
        (4.5, "w2"),
    ]


def test_who_is_still_starting_is_let_go_first_and_the_others_come_when_they_would_have() -> None:
    _, pool, _ = play(1, [2, 4, 2], [0.0, 5.5])
    assert [size for size in pool.sizes if size.at_s in (3.0, 3.5, 4.5, 5.0)] == [
        PoolSize(3.0, 2, 1),
        PoolSize(3.5, 2, 2),
        PoolSize(5.0, 2, 2),
    ]


def test_a_worker_that_is_let_go_finishes_its_batch_and_takes_no_other() -> None:
    record, pool, _ = play(2, [1], [0.5, 0.5, 1.0, 1.125])
    assert PoolSize(1.0, 1, 1) in pool.sizes
    assert ran(record) == [(0.5, "w0"), (0.5, "w1"), (1.25, "w0"), (2.0, "w0")]
    assert record.batches.done_s.tolist() == [1.25, 1.25, 2.0, 2.75]


def test_a_worker_that_is_asked_for_again_starts_again() -> None:
    record, pool, _ = play(2, [1, 2], [3.25, 3.25, 4.5])
    assert [size.ready for size in pool.sizes if size.at_s in (1.0, 2.0, 4.5)] == [1, 1, 2]
    assert ran(record) == [(3.25, "w0"), (4.0, "w0"), (4.5, "w1")]


def test_the_pool_shrinks_no_sooner_than_the_sizing_says_and_has_no_more_workers_than_there_are() -> None:
    _, pool, _ = play(1, [9, 1], [0.0, 6.0], shrink_after_s=2.0)
    assert [(size.at_s, size.asked) for size in pool.sizes if size.at_s.is_integer()] == [
        (0.0, 1),
        (1.0, 4),
        (2.0, 4),
        (3.0, 4),
        (4.0, 1),
        (5.0, 1),
        (6.0, 1),
    ]


def test_without_an_answer_the_pool_stays_and_the_planner_is_asked_again() -> None:
    _, pool, planner = play(2, [None, 3], [0.0, 4.75])
    assert [(size.at_s, size.asked) for size in pool.sizes[:2]] == [(0.0, 2), (2.0, 3)]
    assert [seen.now_s for seen in planner.seen] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_the_planner_sees_who_is_there_and_who_is_ready() -> None:
    _, _, planner = play(1, [2], [0.0, 4.0])
    assert [(seen.devices, set(seen.held)) for seen in planner.seen[1:4:2]] == [
        ({"w0": "cpu", "w1": "cpu"}, {"w0"}),
        ({"w0": "cpu", "w1": "cpu"}, {"w0", "w1"}),
    ]


def test_worker_seconds_count_from_the_asking_on_within_the_span() -> None:
    sizes = [PoolSize(0.0, 1, 1), PoolSize(2.0, 3, 1), PoolSize(4.5, 3, 3), PoolSize(6.0, 2, 2)]
    assert worker_seconds(sizes, 0.0, 10.0) == 2 * 1 + 4 * 3 + 4 * 2
    assert worker_seconds(sizes, 1.0, 3.0) == 1 + 3
    assert worker_seconds(sizes, 7.0, 8.0) == 2


@pytest.mark.parametrize(
    ("wrong", "complaint"), [({"report_s": 0.0}, "report_s is 0"), ({"start_s": inf}, "start_s is inf")]
)
def test_times_that_cannot_be_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        PoolTimes(**wrong)
