"""Queries of pipelines that fail, or are cancelled, beside others that go on."""

import numpy as np
import pytest

from catalog.errors import (
    AdapterFailed,
    DeadlineMissed,
    PoisonQuery,
    Saturated,
    VariantFailed,
)
from dispatch.batching.nexus import EarlyDrop
from dispatch.worker_info import WorkerInfo
from dispatch_scene import launched
from pipeline_scene import (
    RUN_S,
    SLO_S,
    answer,
    answered,
    ask,
    asking,
    both,
    done,
    fail,
    fan_out,
    flow,
    nothing_is_left,
    numbers,
    parts,
    reason,
    refuse_13,
    refused,
    running,
    scene,
    sequence,
    stage,
)


def test_several_queries_share_batches_and_each_keeps_its_own() -> None:
    made = fan_out()
    d = scene(made)
    for number in (1, 2, 3):
        ask(d, number)
    done(d, "a", 0.01)
    done(d, "a", 0.02)
    for worker in "bcbc":
        done(d, worker, 0.03)
    found = {**numbers(done(d, "d", 0.04)), **numbers(done(d, "d", 0.05))}
    assert found == {n: [((n * 100 + 12) * 10_000 + n * 100 + 13) * 10 + 4] for n in (1, 2, 3)}


def test_an_adapter_that_raises_ends_its_query_and_nobody_elses_in_the_same_batch() -> None:
    made = flow(stage("a", x="query.x"), stage("b", refuse_13, y="a.y"))
    d = scene(made)
    ask(d, 1)
    for number in (12, 13, 14):
        ask(d, number)
    done(d, "a", 0.01)
    assert running(d, "a") == [12, 13, 14]
    commands = done(d, "a", 0.02)
    assert refused(commands) == {13: AdapterFailed}
    assert reason(commands) == "stage 'b': adapter pipeline_scene:refuse_13 raised ValueError: 13 brings bad luck"
    found = {**numbers(done(d, "b", 0.03)), **numbers(done(d, "b", 0.04))}
    assert found == {1: [112], 12: [1212], 14: [1412]}
    assert nothing_is_left(d, made)


def test_an_adapter_that_raises_withdraws_the_querys_other_jobs() -> None:
    made = flow(
        stage("a", x="query.x"),
        stage("b", x="query.x"),
        stage("c", refuse_13, y="a.y"),
        stage("d", both, left="b.y", right="c.y"),
    )
    d = scene(made, {"a": ["a"]})
    ask(d, 13)
    assert d.queues.rows("e") == 1
    assert refused(done(d, "a", 0.01)) == {13: AdapterFailed}
    assert nothing_is_left(d, made)
    d = scene(made)
    ask(d, 13)
    assert running(d, "b") == [13]
    assert refused(done(d, "a", 0.01)) == {13: AdapterFailed}
    assert launched(done(d, "b", 0.02)) == []
    assert nothing_is_left(d, made)


def test_no_job_is_left_of_a_query_whose_second_branch_raises_as_the_first_begins() -> None:
    made = flow(
        stage("a", x="query.x"), stage("b", x="a.y"), stage("c", refuse_13, y="a.y"), of=answer(y="b.y", z="c.y")
    )
    d = scene(made)
    ask(d, 13)
    commands = done(d, "a", 0.01)
    assert refused(commands) == {13: AdapterFailed}
    assert launched(commands) == []
    assert nothing_is_left(d, made)


def test_a_query_whose_first_adapter_raises_is_refused_as_it_comes() -> None:
    made = flow(stage("a", refuse_13, y="query.x"))
    d = scene(made)
    commands = ask(d, 130)
    assert refused(commands) == {130: AdapterFailed}
    assert nothing_is_left(d, made)
    assert launched(ask(d, 14)) != []


def test_a_part_that_fails_for_good_ends_its_query_once() -> None:
    made = parts()
    d = scene(made)
    ask(d, 3)
    done(d, "a", 0.01)
    commands = []
    for step in range(9):
        if running(d, "b"):
            commands += fail(d, "b", 0.02 + 0.01 * step)
    assert refused(commands) == {3: VariantFailed}
    assert nothing_is_left(d, made)


def test_results_of_parts_that_do_not_fit_together_end_their_query() -> None:
    made = flow(stage("a", x="query.x"))
    d = scene(made, {"a": ["a"], "b": ["a"]})
    ask(d, 1, numbers=[5, 6])
    first, second = d.workers["a"].batch, d.workers["b"].batch
    assert first is not None
    assert second is not None
    d.on_done("a", first.id, [{"y": np.zeros(1)}], RUN_S, 0.01)
    commands = d.on_done("b", second.id, [{"z": np.zeros(1)}], RUN_S, 0.02)
    assert refused(commands) == {1: VariantFailed}
    assert "stage 'a': the results of its jobs do not fit together: ValueError: one job gave y, another z" in reason(
        commands
    )


@pytest.mark.parametrize("steps", range(5))
def test_a_query_may_be_cancelled_at_every_moment(steps: int) -> None:
    made = parts()
    d = scene(made)
    ask(d, 3)
    script = ["a", "b", "b", "c"]
    for worker in script[:steps]:
        done(d, worker, 0.01)
    d.on_cancel(asking(3))
    assert d.queues.rows("e") == 0
    assert made.open_queries == 0
    for worker in script:
        if running(d, worker):
            commands = done(d, worker, 0.02)
            assert answered(commands) == []
            assert launched(commands) == []
    assert nothing_is_left(d, made)


def test_the_bound_of_the_queue_holds_for_queries_that_come() -> None:
    made = parts()
    d = scene(made, max_queued_rows=3)
    ask(d, 9)
    done(d, "a", 0.01)
    assert d.queues.rows("e") == 8, "jobs of queries that were let in are never refused"
    assert refused(ask(d, 10)) == {10: Saturated}
    assert made.open_queries == 1


def test_an_endpoint_is_served_where_every_stage_has_a_worker() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"], "b": ["b"]})
    assert not d.queues.served("e")
    d.on_worker_ready("c", WorkerInfo("cpu"), ["c-small"], 0.0)
    assert d.queues.served("e")
    d.on_workers_lost(["b"], 0.1)
    assert not d.queues.served("e")


def test_what_begins_together_does_not_run_where_one_of_it_ends_the_query_at_once() -> None:
    made = fan_out()
    d = scene(made, {"a": ["a"], "b": ["b"], "c": ["c-small"], "d": ["d"]}, selection=EarlyDrop())
    ask(d, 1)
    commands = done(d, "a", SLO_S - RUN_S / 2)
    assert refused(commands) == {1: DeadlineMissed}, "there is no time left for b"
    assert not launched(commands)
    assert nothing_is_left(d, made)


def test_what_several_workers_lose_at_once_is_not_run_again_where_one_of_it_ends_the_query() -> None:
    made = parts()
    d = scene(made, {"a": ["a"], "b1": ["b"], "b2": ["b"]})
    ask(d, 2)
    done(d, "a", 0.01)
    d.on_workers_lost(["b1"], 0.02, died=True)
    d.on_worker_ready("b1", WorkerInfo("cpu"), ["b"], 0.02)
    assert running(d, "b1") == running(d, "b2") == [2]
    commands = d.on_workers_lost(["b1", "b2"], 0.03, died=True)
    assert refused(commands) == {2: PoisonQuery}
    assert nothing_is_left(d, made)
