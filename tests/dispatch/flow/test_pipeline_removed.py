"""Pipelines that are removed, and may come again under their name, while their queries are under way."""

from catalog.errors import (
    DeadlineMissed,
    UnknownEndpoint,
    VariantFailed,
    WorkerLost,
)
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo
from pipeline_scene import (
    SLO_S,
    answered,
    ask,
    asking,
    done,
    fail,
    flow,
    nothing_is_left,
    numbers,
    parts,
    plan,
    refused,
    running,
    scene,
    sequence,
    stage,
    woken,
)


def test_a_removed_endpoint_ends_its_queries_once() -> None:
    made = parts()
    d = scene(made)
    ask(d, 3)
    ask(d, 4)
    done(d, "a", 0.01)
    commands = d.apply(Plan(2, {}), 0.02)
    assert refused(commands) == {3: UnknownEndpoint}, "two of its parts waited, and one runs"
    assert answered(done(d, "b", 0.03)) == []
    assert refused(done(d, "a", 0.03)) == {4: UnknownEndpoint}
    assert nothing_is_left(d, made)


def _other() -> tuple[Dispatcher, PipelineFlow, PipelineFlow]:
    """While a batch runs, its endpoint is removed and another of its name added, whose jobs have the same ids."""
    old, new = sequence(), sequence()
    d = scene(old)
    ask(d, 1)
    d.apply(Plan(2, {}), 0.01)
    d.apply(plan(new, 3), 0.02)
    ask(d, 2, 0.02)
    return d, old, new


def test_results_go_to_the_endpoint_that_they_were_asked_for_even_if_another_has_its_name() -> None:
    d, old, new = _other()
    commands = done(d, "a", 0.03)
    assert refused(commands) == {1: UnknownEndpoint}
    assert running(d, "a") == [2], "which waited meanwhile"
    done(d, "a", 0.04)
    done(d, "b", 0.05)
    assert numbers(done(d, "c", 0.06)) == {2: [2123]}
    assert nothing_is_left(d, old)
    assert nothing_is_left(d, new)


def test_a_query_of_a_removed_endpoint_may_be_cancelled_without_touching_the_new_one() -> None:
    d, old, new = _other()
    d.on_cancel(asking(1))
    assert d.queues.any_withdrawn
    commands = done(d, "a", 0.03)
    assert refused(commands) == {}
    assert running(d, "a") == [2]
    assert nothing_is_left(d, old)
    assert new.open_queries == 1


def test_withdrawn_jobs_are_not_taken_for_those_of_another_endpoint_with_their_ids() -> None:
    old, new = sequence(), flow(stage("a", x="query.x"))
    d = scene(old)
    ask(d, 1)
    done(d, "a", 0.01)
    d.on_workers_lost(["a"], 0.01)
    d.apply(Plan(2, {}), 0.01)
    d.apply(plan(new, 3), 0.02)
    ask(d, 2, 0.02, numbers=[5, 6])
    running_job = d.workers["b"].batch
    assert running_job is not None
    assert running_job.jobs[0].id in {job.id for lane in d.queues.by_name["e"].distinct_lanes() for job in lane.queue}
    assert list(refused(d.on_timer(0.02 + SLO_S))) == [2], "both of its jobs are late, and the first ends the query"
    assert refused(d.on_workers_lost(["b"], 0.13)) == {1: WorkerLost}
    assert nothing_is_left(d, old)


def test_a_flow_that_serves_an_endpoint_again_forgets_which_stages_had_workers() -> None:
    made = sequence()
    d = scene(made)
    assert d.queues.served("e")
    d.apply(Plan(2, {}), 0.01)
    d.on_workers_lost(["a", "b", "c"], 0.01)
    d.apply(plan(made, 3), 0.02)
    assert not d.queues.served("e")


def test_a_query_of_a_removed_endpoint_ends_when_its_worker_is_lost() -> None:
    d, old, new = _other()
    assert refused(d.on_workers_lost(["a"], 0.03)) == {1: WorkerLost}
    assert old.open_queries == 0
    assert new.open_queries == 1
    d.on_worker_ready("a", WorkerInfo("cpu"), ["a"], 0.04)
    assert running(d, "a") == [2]


def test_a_query_of_a_removed_endpoint_ends_when_its_batch_fails() -> None:
    d, old, _ = _other()
    assert refused(fail(d, "a", 0.03)) == {1: VariantFailed}
    assert running(d, "a") == [2]
    assert old.open_queries == 0


def test_the_same_flow_may_serve_an_endpoint_again() -> None:
    made = sequence()
    d = scene(made)
    ask(d, 1)
    d.apply(Plan(2, {}), 0.01)
    assert d.apply(plan(made, 3), 0.02) == []
    ask(d, 2, 0.02)
    assert refused(done(d, "a", 0.03)) == {1: UnknownEndpoint}
    for worker in "abc":
        commands = done(d, worker, 0.04)
    assert numbers(commands) == {2: [2123]}
    assert nothing_is_left(d, made)


def test_a_query_of_a_removed_endpoint_is_given_up_at_twice_its_time_even_if_another_has_its_name() -> None:
    d, old, new = _other()
    assert refused(d.on_timer(2 * SLO_S)) == {1: DeadlineMissed}
    assert d.queues.any_withdrawn, "nobody waits for what runs"
    assert old.open_queries == 0
    assert new.open_queries == 1
    assert refused(done(d, "a", 0.21)) == {}
    assert running(d, "a") == [2]
    assert refused(d.on_timer(0.02 + 2 * SLO_S)) == {2: DeadlineMissed}
    assert not d.on_timer(30.0)


def test_the_host_is_woken_for_a_removed_endpoint() -> None:
    made = sequence()
    d = scene(made)
    assert woken(ask(d, 1)) == [2 * SLO_S]
    d.apply(Plan(2, {}), 0.01)
    assert woken(d.on_timer(0.02)) == [2 * SLO_S]
    d.on_timer(2 * SLO_S)
    assert woken(d.apply(Plan(3, {}), 0.3)) == []


def test_a_query_is_given_up_once_by_a_flow_that_serves_its_endpoint_again() -> None:
    made = sequence()
    d = scene(made)
    ask(d, 1)
    d.apply(Plan(2, {}), 0.01)
    d.apply(plan(made, 3), 0.02)
    d.apply(Plan(4, {}), 0.03)
    assert refused(d.on_timer(2 * SLO_S)) == {1: DeadlineMissed}
    done(d, "a", 0.3)
    assert nothing_is_left(d, made)
