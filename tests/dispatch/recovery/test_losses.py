"""Workers that die or are lost under queries: who is launched again, alone or with others, and who is refused."""

import pytest

from catalog.errors import PoisonQuery, VariantFailed, WorkerLost
from dispatch.commands import Command, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.recovery.retries import MAX_ATTEMPTS, MAX_LOSSES
from dispatch.recovery.retry_budget import ALWAYS
from dispatch.worker_info import WorkerInfo
from dispatch_scene import answered, dispatcher, endpoint, finish, launched, query, rejected


def of_many(d: Dispatcher, first: int, queries: int) -> list[Command]:
    """Queries come while the only worker is busy; then it runs all of them together."""
    (busy,) = launched(d.on_arrival(query(first, slo_s=9.0), 0.0))
    for query_id in range(first + 1, first + 1 + queries):
        assert not launched(d.on_arrival(query(query_id, slo_s=9.0), 0.0))
    commands = finish(d, busy, 0.001)
    (batch,) = launched(commands)
    assert batch.rows == queries
    return commands


def test_queries_of_a_worker_that_died_run_one_by_one_and_all_are_answered() -> None:
    d = dispatcher()
    of_many(d, 1, 4)
    d.on_worker_ready("w2", WorkerInfo("cpu"), ["fast", "slow"], 0.002)
    commands = d.on_workers_lost(["w1"], 0.003, died=True)
    seen = []
    while batches := launched(commands):
        (batch,) = batches
        assert len(batch.jobs) == 1
        commands = finish(d, batch, 0.004)
        seen += answered(commands)
    assert seen == [2, 3, 4, 5]


def test_queries_of_a_worker_that_was_only_taken_away_run_together_again() -> None:
    d = dispatcher()
    of_many(d, 1, 4)
    d.on_worker_ready("w2", WorkerInfo("cpu"), ["fast", "slow"], 0.002)
    (first,) = launched(d.on_workers_lost(["w1"], 0.003))
    (others,) = launched(finish(d, first, 0.004))
    assert (first.rows, others.rows) == (1, 3), "the first does not wait for the others"


def test_a_query_that_kills_is_refused_after_two_deaths_and_its_batch_mates_are_answered() -> None:
    d = dispatcher()
    commands = of_many(d, 1, 4)
    deaths, spawned, seen, refused = 0, 1, [], {}
    while batches := launched(commands):
        (batch,) = batches
        if any(job.query.id == 3 for job in batch.jobs):
            deaths += 1
            spawned += 1
            commands = d.on_workers_lost([batch.worker], 0.01, died=True)
            refused |= {c.query.id: c.error for c in commands if isinstance(c, Reject)}
            commands += d.on_worker_ready(f"w{spawned}", WorkerInfo("cpu"), ["fast", "slow"], 0.01)
        else:
            commands = finish(d, batch, 0.01)
            seen += answered(commands)
    assert deaths == MAX_LOSSES == 2
    assert sorted(seen) == [2, 4, 5]
    assert list(refused) == [3]
    error = refused[3]
    assert isinstance(error, PoisonQuery)
    assert (error.code, error.status, error.retryable) == ("rejected-poison", 422, False)
    assert "2 workers died while they ran this query" in str(error)


def test_suspects_and_others_never_share_a_batch() -> None:
    d = dispatcher()
    of_many(d, 1, 3)
    for query_id in (10, 11):
        d.on_arrival(query(query_id, slo_s=20.0), 0.002)
    d.on_workers_lost(["w1"], 0.003, died=True)
    commands = d.on_worker_ready("w2", WorkerInfo("cpu"), ["fast", "slow"], 0.003)
    sizes = []
    while batches := launched(commands):
        (batch,) = batches
        sizes.append([job.query.id for job in batch.jobs])
        commands = finish(d, batch, 0.004)
    assert sizes == [[2], [3], [4], [10, 11]]


def test_a_query_that_was_lost_with_its_worker_again_and_again_is_refused_with_a_word_on_it() -> None:
    d = dispatcher()
    (batch,) = launched(d.on_arrival(query(1), 0.0))
    for attempt in range(MAX_ATTEMPTS - 1):
        d.on_workers_lost([batch.worker], 0.01)
        (batch,) = launched(d.on_worker_ready(f"next{attempt}", WorkerInfo("cpu"), ["fast"], 0.01))
    (reject,) = [c for c in d.on_workers_lost([batch.worker], 0.01) if isinstance(c, Reject)]
    assert isinstance(reject.error, WorkerLost)
    assert (reject.error.code, reject.error.status, reject.error.retryable) == ("evicted-worker-lost", 503, True)
    assert "was lost while it ran the query's batch, and it was launched 3 times" in str(reject.error)


@pytest.mark.parametrize("drop_late", [False, True])
def test_after_its_deadline_a_lost_query_is_launched_again_only_where_late_answers_are_wanted(drop_late: bool) -> None:
    d = dispatcher(endpoint(drop_late=drop_late), workers=("w1", "w2"))
    d.on_arrival(query(1, slo_s=0.1), 0.0)
    commands = d.on_workers_lost(["w1"], 0.1, died=True)
    assert rejected(commands) == ({1: WorkerLost} if drop_late else {})
    assert [batch.worker for batch in launched(commands)] == ([] if drop_late else ["w2"])
    if drop_late:
        (reject,) = [c for c in commands if isinstance(c, Reject)]
        assert "and its deadline has passed" in str(reject.error)


def test_a_storm_of_losses_is_refused_what_one_loss_is_not() -> None:
    """A worker that is lost with every query it runs: retries are bounded, and every query has one outcome."""
    d = dispatcher(endpoint(max_queued_rows=100_000))
    launches, outcomes, queries = 0, 0, 2000
    for number in range(queries):
        commands = d.on_arrival(query(number + 1, slo_s=50.0), 0.0)
        while batches := launched(commands):
            launches += len(batches)
            commands = d.on_workers_lost([batches[0].worker], 0.0)
            outcomes += len(rejected(commands))
            commands += d.on_worker_ready(f"w{launches + 1}", WorkerInfo("cpu"), ["fast"], 0.0)
    assert outcomes == queries
    assert queries + ALWAYS < launches <= queries + ALWAYS + 0.3 * queries, "without a budget it would be three times"


def test_a_query_that_fails_is_not_launched_again_when_the_budget_is_empty() -> None:
    d = dispatcher(endpoint(max_queued_rows=100_000))
    attempts = 0
    for number in range(1, 400):
        commands = d.on_arrival(query(number, slo_s=50.0), 0.0)
        while batches := launched(commands):
            attempts += 1
            commands = d.on_failed("w1", batches[0].id, "broken", 0.0)
        assert rejected(commands) == {number: VariantFailed}
    assert attempts < 2 * 400
