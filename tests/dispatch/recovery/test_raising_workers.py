"""A worker on which every run raises, beside healthy ones; and queries that make every run raise."""

from collections.abc import Callable
from itertools import count

import pytest

from catalog.errors import VariantFailed
from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.bin_packing import BinPacking
from dispatch.balancing.registry import BALANCERS
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan
from dispatch.query import Batch
from dispatch.queues.variant_health import AVOID_S, FAILURES_TO_AVOID
from dispatch.recovery.retries import MAX_ATTEMPTS
from dispatch.selection.fixed import FixedSelection
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, answered, dispatcher, endpoint, finish, launched, query, rejected

BOTH = 2 * FAILURES_TO_AVOID
"""Batches that raise until both variants of a worker are avoided."""


def only_fast(balancing: str = "central") -> EndpointPlan:
    """An endpoint of one variant."""
    return endpoint(balancing=balancing, selection=FixedSelection("fast")).with_stage(candidates={"cpu": (FAST,)})


class Played:
    """Carries out launches at once; runs of which ``raises`` says so raise."""

    def __init__(self, d: Dispatcher, raises: Callable[[Batch], bool]) -> None:
        self.d = d
        self.raises = raises
        self.launches: list[Batch] = []
        self.answered: list[int] = []
        self.rejected: dict[int, type[Exception]] = {}

    def see(self, commands: list[Command], now_s: float) -> None:
        todo = list(commands)
        while todo:
            self.answered += answered(todo)
            self.rejected |= rejected(todo)
            batches = launched(todo)
            self.launches += batches
            todo = []
            for batch in batches:
                if self.raises(batch):
                    todo += self.d.on_failed(batch.worker, batch.id, "CUDA error", now_s)
                else:
                    todo += finish(self.d, batch, now_s)

    def ask(self, query_id: int, now_s: float) -> None:
        self.see(self.d.on_arrival(query(query_id, now_s), now_s), now_s)

    def on(self, worker: str) -> list[Batch]:
        return [batch for batch in self.launches if batch.worker == worker]


def broken(*workers: str) -> Callable[[Batch], bool]:
    return lambda batch: batch.worker in workers


def poisoned(*ids: int) -> Callable[[Batch], bool]:
    return lambda batch: any(job.query.id in ids for job in batch.jobs)


@pytest.mark.parametrize("balancing", [*BALANCERS, "weighted"])
@pytest.mark.parametrize("admission", [None, AdmissionRules()])
def test_no_query_is_lost_to_a_worker_on_which_every_run_raises(
    balancing: str, admission: AdmissionRules | None
) -> None:
    plan = endpoint(balancing="round_robin" if balancing == "weighted" else balancing, admission=admission)
    if balancing == "weighted":
        plan = plan.with_stage(balancer=WeightedShares({"w1": 0.9, "w2": 0.1}))
    played = Played(dispatcher(plan, workers=("w1", "w2")), broken("w1"))
    ids = range(1, 101)
    for query_id in ids:  # within the time for which variants are avoided
        played.ask(query_id, 0.01 * query_id)
    assert played.answered == list(ids)
    assert len(played.on("w1")) <= BOTH
    assert all(batch.rows == 1 for batch in played.launches)


def test_a_retry_goes_to_another_worker_although_the_first_is_idle_and_has_another_variant() -> None:
    d = dispatcher(endpoint(balancing="shortest_queue"), workers=("w1", "w2"))
    (first,) = launched(d.on_arrival(query(1), 0.0))
    assert first.worker == "w1"
    (retry,) = launched(d.on_failed("w1", first.id, "broken", 0.001))
    assert (retry.worker, retry.variant) == ("w2", "fast"), "the variant may be at fault as well"
    assert answered(finish(d, retry, 0.002)) == [1]


def test_a_variant_that_failed_elsewhere_is_tried_where_there_is_no_other() -> None:
    d = dispatcher(only_fast(), workers=("w1", "w2"))
    (first,) = launched(d.on_arrival(query(1), 0.0))
    (retry,) = launched(d.on_failed(first.worker, first.id, "broken", 0.001))
    assert (first.worker, retry.worker) == ("w1", "w2")
    assert answered(finish(d, retry, 0.002)) == [1]


def test_a_query_that_makes_every_run_raise_is_given_up_after_a_few_runs_and_costs_no_other() -> None:
    played = Played(dispatcher(endpoint(balancing="central"), workers=("w1", "w2", "w3", "w4")), poisoned(3))
    for query_id in range(1, 7):
        played.ask(query_id, 0.01 * query_id)
    assert played.answered == [1, 2, 4, 5, 6]
    assert played.rejected == {3: VariantFailed}
    runs = [batch for batch in played.launches if batch.jobs[0].query.id == 3]
    assert len(runs) == MAX_ATTEMPTS
    assert len({batch.worker for batch in runs}) == MAX_ATTEMPTS
    assert all(len(batch.jobs) == 1 for batch in runs)


def test_on_one_worker_a_failed_query_is_tried_with_its_other_variants_and_given_up() -> None:
    played = Played(dispatcher(), poisoned(1))
    played.ask(1, 0.0)
    assert [batch.variant for batch in played.launches] == ["slow", "fast", "slow"]
    assert played.rejected == {1: VariantFailed}


def test_a_worker_of_which_all_variants_are_avoided_leaves_a_common_queue_to_others() -> None:
    d = dispatcher(only_fast(), workers=("w1", "w2"))
    played = Played(d, broken("w1"))
    for query_id in range(1, FAILURES_TO_AVOID + 1):
        played.ask(query_id, 0.0)
    (running,) = launched(d.on_arrival(query(10), 0.1))
    assert running.worker == "w2"
    for query_id in (11, 12):
        assert launched(d.on_arrival(query(query_id), 0.1)) == [], "the other worker is idle, and broken"
    commands = finish(d, running, 0.101)
    (following,) = launched(commands)
    assert (following.worker, following.rows) == ("w2", 2)


def test_a_worker_on_which_a_query_failed_runs_those_that_are_due_later() -> None:
    d = dispatcher(only_fast(), workers=("w1", "w2"))
    failing, other = [b for i in (1, 2) for b in launched(d.on_arrival(query(i), 0.0))]
    assert (failing.worker, other.worker) == ("w1", "w2")
    assert launched(d.on_failed("w1", failing.id, "broken", 0.001)) == [], "it waits for the other worker"
    (later,) = launched(d.on_arrival(query(3, 0.002), 0.002))
    assert (later.worker, [job.query.id for job in later.jobs]) == ("w1", [3])
    (retry,) = launched(finish(d, other, 0.003))
    assert (retry.worker, [job.query.id for job in retry.jobs]) == ("w2", [1])
    assert answered(finish(d, later, 0.004)) == [3]
    assert answered(finish(d, retry, 0.004)) == [1]
    assert d.queues.rows("digits") == 0


def test_what_waits_for_a_worker_goes_to_others_once_all_of_its_variants_are_avoided() -> None:
    d = dispatcher(only_fast("round_robin"), workers=("w1", "w2"))
    ids = count(1)

    def arrive(queries: int) -> list[Batch]:
        return [b for _ in range(queries) for b in launched(d.on_arrival(query(next(ids), slo_s=9.0), 0.0))]

    on_w1, on_w2 = arrive(2)
    for failures in range(1, FAILURES_TO_AVOID):
        arrive(1 if failures == 1 else 2)  # one for each worker, and what failed was queued with w2 already
        (on_w1,) = launched(d.on_failed("w1", on_w1.id, "broken", 0.0))
        assert on_w1.worker == "w1"
    arrive(8)
    assert d.workers["w1"].load.queued_rows > 0
    assert launched(d.on_failed("w1", on_w1.id, "broken", 0.0)) == []
    assert d.workers["w1"].load.queued_rows == 0
    played = Played(d, broken("w1"))
    played.see(finish(d, on_w2, 0.1), 0.1)
    assert sorted(played.answered) == list(range(1, next(ids)))


def test_where_no_worker_is_better_the_balancer_has_the_word() -> None:
    d = dispatcher(endpoint(balancing="round_robin"), workers=("w1", "w2"))
    played = Played(d, broken("w1", "w2"))
    for query_id in range(1, 9):
        played.ask(query_id, 0.0)
    assert set(played.rejected.values()) == {VariantFailed}
    played.raises = broken()
    played.launches.clear()
    for query_id in range(11, 15):
        played.ask(query_id, 0.0)
    assert played.answered == [11, 12, 13, 14]


def test_a_worker_is_tried_again_after_a_while_at_the_cost_of_one_run() -> None:
    played = Played(dispatcher(only_fast(), workers=("w1", "w2")), broken("w1"))
    for query_id in range(1, 10):
        played.ask(query_id, 0.0)
    assert len(played.on("w1")) == FAILURES_TO_AVOID
    for query_id in range(10, 20):
        played.ask(query_id, AVOID_S + 0.1)
    assert len(played.on("w1")) == FAILURES_TO_AVOID + 1
    played.raises = broken()
    for query_id in range(20, 30):
        played.ask(query_id, 2 * AVOID_S + 0.2)
    assert len(played.on("w1")) == FAILURES_TO_AVOID + 11
    assert played.answered == list(range(1, 30))


def test_the_worker_that_a_balancer_fills_first_is_passed_over_while_it_is_broken() -> None:
    plan = only_fast().with_stage(balancer=BinPacking())
    played = Played(dispatcher(plan, workers=("w1", "w2", "w3")), broken("w1"))
    for query_id in range(1, 20):
        played.ask(query_id, 0.0)
    assert len(played.on("w1")) == FAILURES_TO_AVOID
    assert not played.on("w3"), "of equals always the same one is taken"


def test_a_worker_that_joins_gets_what_failed_on_the_others() -> None:
    d = dispatcher(only_fast(), workers=("w1",))
    (first,) = launched(d.on_arrival(query(1), 0.0))
    (again,) = launched(d.on_failed("w1", first.id, "broken", 0.0))
    assert again.worker == "w1"
    d.on_worker_ready("w2", WorkerInfo("cpu"), ["fast"], 0.0)
    (retry,) = launched(d.on_failed("w1", again.id, "broken", 0.0))
    assert retry.worker == "w2"
