"""Batches that slow each other down, by hand."""

from collections.abc import Mapping

import numpy as np
import pytest

from dispatch.balancing.round_robin import RoundRobin
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch, StageKey
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate
from dispatch.worker_info import WorkerInfo
from interference_scene import PairLaw, on_nodes
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.node_interference import Due, NodeInterference
from simulator.record import Record

PLAN = EndpointPlan.of_stage(
    "e",
    StagePlan({"cpu": (Candidate("v", 1.0, (0.0, 1.0)),)}, GreedySelection(), RoundRobin()),
    slo_s=100.0,
    drop_late=False,
    max_queued_rows=100,
)
TWICE = PairLaw({("v", "v"): 1.0})


def play(workers: Mapping[str, WorkerInfo], *arrivals_s: float, law: PairLaw = TWICE) -> Record:
    devices = {worker: info.device for worker, info in workers.items()}
    nodes = NodeInterference(workers, law)
    return Host(Plan(1, {"e": PLAN}), devices, PlannedLatency(PLAN), nodes=nodes).run({"e": np.array(arrivals_s)})


def done_s(record: Record) -> list[float]:
    return sorted(record.batches.done_s.tolist())


def test_two_batches_at_once_take_as_long_as_the_law_says() -> None:
    assert done_s(play(on_nodes(2), 0.0, 0.0)) == [2.0, 2.0]
    assert done_s(play(on_nodes(1, 1), 0.0, 0.0)) == [1.0, 1.0]


def test_a_batch_is_slow_only_while_its_neighbour_runs() -> None:
    # From 0 to 0.5 alone; the other half takes 1 s, to 1.5; the second has then done half and has half to go.
    record = play(on_nodes(2), 0.0, 0.5)
    assert done_s(record) == [1.5, 2.0]


def test_three_beside_each_other_and_nobody_else() -> None:
    # Three at a third of the speed: at 0.25 s from the start each has 1 - 0.25 / 3 to go.
    assert done_s(play(on_nodes(3, 1), 0.0, 0.0, 0.0, 0.0)) == pytest.approx([1.0, 3.0, 3.0, 3.0])


def test_a_worker_that_goes_on_with_its_queue_goes_on_being_a_neighbour() -> None:
    # Round robin: the first and third on w0. Both slow to 2; then the third alone.
    assert done_s(play(on_nodes(2), 0.0, 0.0, 0.0)) == [2.0, 2.0, 3.0]


def test_unknown_nodes_and_nodes_with_one_worker_run_as_without() -> None:
    times = np.cumsum(np.random.default_rng(1).exponential(0.3, 200))
    workers = {"w0": WorkerInfo("cpu"), "w1": WorkerInfo("cpu"), "w2": WorkerInfo("cpu", node="n")}
    found = play(workers, *times)
    plain = Host(Plan(1, {"e": PLAN}), dict.fromkeys(workers, "cpu"), PlannedLatency(PLAN)).run({"e": times})
    assert found.batches.done_s.tolist() == plain.batches.done_s.tolist()


def test_work_is_conserved_whatever_starts_and_ends_when() -> None:
    # Two on a node at half the speed do one batch a second together, as long as one of them runs.
    times = np.cumsum(np.random.default_rng(2).exponential(1.1, 300))
    record = play(on_nodes(2), *times)
    busy_s, until_s = 0.0, 0.0
    spans = zip(record.batches.launched_s.tolist(), record.batches.done_s.tolist(), strict=True)
    for start_s, end_s in sorted(spans):
        busy_s += max(end_s - max(start_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    assert busy_s == pytest.approx(300.0)


def test_what_is_launched_behind_a_batch_begins_when_that_is_back() -> None:
    workers = on_nodes(2)
    nodes = NodeInterference(workers, TWICE)

    def batch(number: int, worker: str, launched_s: float) -> Batch:
        return Batch(number, worker, StageKey("e"), "v", 1.0, (), 1, launched_s)

    first, behind, other = batch(1, "w0", 0.0), batch(2, "w0", 0.5), batch(3, "w1", 1.5)
    assert nodes.start(first, 1.0, 0.2, 0.0) == [Due(pytest.approx(1.2), first, pytest.approx(1.0))]
    assert nodes.start(behind, 1.0, 0.2, 0.5) == [], "it runs nothing yet, and slows nobody down"
    assert nodes.end(first, 1.2) == [Due(pytest.approx(2.4), behind, pytest.approx(1.0), pytest.approx(0.7))]
    # it has 0.7 s to go when the other starts, at half the speed from then on
    assert nodes.start(other, 1.0, 0.2, 1.5) == [
        Due(pytest.approx(1.5 + 1.4 + 0.2), behind, pytest.approx(0.3 + 1.4), pytest.approx(0.7)),
        Due(pytest.approx(1.5 + 2.0 + 0.2), other, pytest.approx(2.0)),
    ]
    assert nodes.start(batch(4, "unknown", 0.0), 1.0, 0.2, 0.0) is None


def test_nothing_launched_behind_a_batch_is_lost_however_much_it_is() -> None:
    """A worker that was given up and came back has its second batch of before in front of two new ones."""
    nodes = NodeInterference(on_nodes(2), TWICE)
    batches = [Batch(number, "w0", StageKey("e"), "v", 1.0, (), 1, 0.0) for number in range(4)]
    (due,) = nodes.start(batches[0], 1.0, 0.0, 0.0) or []
    for batch in batches[1:]:
        assert nodes.start(batch, 1.0, 0.0, 0.0) == []
    ended = [due.batch.id]
    for _ in batches[1:]:
        (due,) = nodes.end(due.batch, due.done_s)
        ended.append(due.batch.id)
    assert ended == [0, 1, 2, 3]
    assert due.done_s == pytest.approx(4.0)
