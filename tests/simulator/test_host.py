"""The simulated host, against closed forms of queueing theory and by hand where instants coincide."""

from collections import Counter
from math import factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from dispatch.balancing.registry import create_balancer
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch_scene import Patient
from simulator.host import Host
from simulator.latency import LatencyModel, PlannedLatency
from simulator.record import Record
from workload.rate import RateSchedule
from workload.renewal import Poisson

Floats = NDArray[np.float64]

ONE_BY_ONE = Candidate("only", 0.9, (0.0, 0.5))
IN_PAIRS = Candidate("only", 0.9, (0.0, 0.5, 0.5))


class Exponential:
    """Independent exponential times of mean one."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        return float(self._rng.exponential()), 0.0


def plan(
    *candidates: Candidate,
    balancing: str = "round_robin",
    slo_s: float = 10.0,
    drop_late: bool = False,
    max_queued_rows: int = 10**9,
    selection: SelectionPolicy | None = None,
    name: str = "e",
) -> EndpointPlan:
    chosen = selection or FixedSelection(candidates[0].variant)
    return EndpointPlan.of_stage(
        name,
        StagePlan({"cpu": candidates}, chosen, create_balancer(balancing)),
        slo_s=slo_s,
        drop_late=drop_late,
        max_queued_rows=max_queued_rows,
    )


def simulate(
    endpoint: EndpointPlan, arrivals_s: Floats | list[float], workers: int = 1, latency: LatencyModel | None = None
) -> Record:
    host = Host(
        Plan(1, {endpoint.name: endpoint}),
        {f"w{i}": "cpu" for i in range(workers)},
        latency or PlannedLatency(endpoint),
    )
    return host.run({endpoint.name: np.asarray(arrivals_s, dtype=np.float64)})


def poisson_s(rate_qps: float, duration_s: float, seed: int) -> Floats:
    return Poisson(RateSchedule.constant(rate_qps), seed).times_s(duration_s)


def waits_s(record: Record) -> Floats:
    return record.batches.launched_s[record.batch] - record.arrival_s


def batches(record: Record) -> list[list[int]]:
    """Query ids of each batch, in the order in which the batches were done."""
    return [np.flatnonzero(record.batch == index).tolist() for index in range(len(record.batches.done_s))]


# -- closed forms ---------------------------------------------------------------------------------------------


def test_fixed_times_one_by_one_wait_as_in_an_m_d_1_queue() -> None:
    load = 0.7
    record = simulate(plan(ONE_BY_ONE), poisson_s(load / 0.5, 200_000.0, seed=1))
    expected_s = load * 0.5 / (2 * (1 - load))
    assert waits_s(record).mean() == pytest.approx(expected_s, rel=0.03)


def test_exponential_times_one_by_one_wait_as_in_an_m_m_1_queue() -> None:
    record = simulate(plan(ONE_BY_ONE), poisson_s(0.6, 300_000.0, seed=2), latency=Exponential(3))
    assert (record.done_s - record.arrival_s).mean() == pytest.approx(1 / (1 - 0.6), rel=0.03)


def test_a_central_queue_waits_as_erlang_has_it() -> None:
    workers, offered = 3, 2.1
    record = simulate(
        plan(ONE_BY_ONE, balancing="central"), poisson_s(offered, 100_000.0, seed=4), workers, Exponential(5)
    )
    last = offered**workers / factorial(workers) * workers / (workers - offered)
    erlang_c = last / (sum(offered**k / factorial(k) for k in range(workers)) + last)
    assert waits_s(record).mean() == pytest.approx(erlang_c / (workers - offered), rel=0.03)


def test_round_robin_over_two_workers_is_two_queues_with_erlang_arrivals() -> None:
    record = simulate(plan(ONE_BY_ONE), poisson_s(1.2, 200_000.0, seed=6), 2, Exponential(7))
    # E2/M/1: the root of z = (2 lambda / (2 lambda + 1 - z))^2 per worker, with phases of rate 1.2
    z = 0.5
    for _ in range(200):
        z = (1.2 / (1.2 + 1 - z)) ** 2
    assert waits_s(record).mean() == pytest.approx(z / (1 - z), rel=0.03)


# -- the order of events --------------------------------------------------------------------------------------


def test_a_batch_that_is_done_comes_before_a_query_of_the_same_instant() -> None:
    assert batches(simulate(plan(IN_PAIRS), [0.0, 0.25, 0.5])) == [[0], [1], [2]]


def test_the_timer_comes_before_a_query_of_the_same_instant() -> None:
    record = simulate(plan(IN_PAIRS, slo_s=1.0, selection=Patient(rows=2, margin_s=0.5)), [0.0, 0.5])
    assert batches(record) == [[0], [1]]
    assert record.batches.launched_s.tolist() == [0.5, 1.0]


def test_batches_done_at_once_come_in_the_order_of_their_launch() -> None:
    record = simulate(plan(ONE_BY_ONE, balancing="central"), [0.0, 0.0, 0.0], workers=2)
    assert [record.batches.workers[worker] for worker in record.batches.worker] == ["w0", "w1", "w0"]


def test_queries_of_one_instant_come_in_the_order_of_the_endpoints() -> None:
    first, second = plan(ONE_BY_ONE, name="first"), plan(ONE_BY_ONE, name="second")
    host = Host(Plan(1, {"first": first, "second": second}), {"w0": "cpu"}, PlannedLatency(first, second))
    record = host.run({"second": np.array([0.0, 1.0]), "first": np.array([0.0])})
    assert [record.endpoints[index] for index in record.endpoint] == ["second", "first", "second"]
    assert record.done_s.tolist() == [0.5, 1.0, 1.5]


# -- what comes out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("balancing", ["round_robin", "shortest_queue", "central"])
@pytest.mark.parametrize("drop_late", [False, True])
def test_every_arrival_is_answered_once_or_refused(balancing: str, drop_late: bool) -> None:
    fast, slow = Candidate("fast", 0.7, (0.0, 0.1, 0.15, 0.2)), Candidate("slow", 0.9, (0.0, 0.4, 0.7))
    endpoint = plan(
        fast, slow, balancing=balancing, slo_s=0.6, drop_late=drop_late, max_queued_rows=9, selection=GreedySelection()
    )
    arrivals_s = poisson_s(40.0, 100.0, seed=8)
    record = simulate(endpoint, arrivals_s, workers=3)
    times_answered = Counter(record.batches.query_ids.tolist())
    assert set(times_answered.values()) == {1}
    assert set(times_answered) == set(np.flatnonzero(record.batch >= 0).tolist())
    assert 0 < len(times_answered) < len(arrivals_s), "some are refused at this load"
    assert record.batches.jobs.sum() == len(times_answered)
    assert np.all(waits_s(record)[record.batch >= 0] >= 0)


def test_the_same_seed_gives_the_same_record_bit_for_bit() -> None:
    def run() -> Record:
        return simulate(plan(IN_PAIRS, balancing="shortest_queue"), poisson_s(5.0, 200.0, 9), 4, Exponential(10))

    first, second = run(), run()
    assert first.batch.tobytes() == second.batch.tobytes()
    assert first.done_s.tobytes() == second.done_s.tobytes()
    assert first.batches.worker.tobytes() == second.batches.worker.tobytes()


def test_workers_of_two_device_types_take_their_own_times() -> None:
    endpoint = EndpointPlan.of_stage(
        "e",
        StagePlan(
            {"cpu": (Candidate("only", 0.9, (0.0, 0.5)),), "gpu": (Candidate("only", 0.9, (0.0, 0.125)),)},
            FixedSelection("only"),
            create_balancer("round_robin"),
        ),
        slo_s=10.0,
        max_queued_rows=99,
    )
    host = Host(Plan(1, {"e": endpoint}), {"a": "cpu", "b": "gpu"}, PlannedLatency(endpoint))
    assert host.run({"e": np.array([0.0, 0.0])}).done_s.tolist() == [0.5, 0.125]


def test_no_arrivals_give_an_empty_record() -> None:
    record = simulate(plan(ONE_BY_ONE), [])
    assert len(record.batch) == len(record.batches.done_s) == 0


def test_arrivals_must_ascend_and_be_of_a_known_endpoint() -> None:
    with pytest.raises(ValueError, match="arrivals of endpoint 'e' go back in time"):
        simulate(plan(ONE_BY_ONE), [1.0, 0.5])
    endpoint = plan(ONE_BY_ONE)
    host = Host(Plan(1, {"e": endpoint}), {"w0": "cpu"}, PlannedLatency(endpoint))
    with pytest.raises(ValueError, match="no endpoint 'x'; endpoints here: e"):
        host.run({"x": np.array([0.0])})
