"""Queries that run through several stages: sequence, fan-out and join, conditions, parts, and how they end."""

import pickle
from math import inf
from random import Random
from typing import Any

import cloudpickle
import numpy as np
import pytest

from catalog.errors import (
    AdapterFailed,
    DeadlineMissed,
    NothingToAnswer,
    NoWorker,
    Saturated,
    UnknownEndpoint,
    VariantFailed,
)
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.commands import Launch, Reject
from dispatch.dispatcher import Dispatcher
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node, Part
from dispatch.plan import Plan
from dispatch.query import Query, StageKey
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
    branches,
    done,
    either,
    fail,
    fan_out,
    flow,
    nothing_is_left,
    numbers,
    odd,
    parts,
    plan,
    reason,
    refuse_13,
    refused,
    running,
    scene,
    sequence,
    stage,
    woken,
)


def test_a_sequence_goes_through_its_stages_and_answers_with_the_last() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    assert running(d, "a") == [7]
    assert numbers(done(d, "a", 0.01)) == {}
    assert running(d, "b") == [7]
    done(d, "b", 0.03)
    assert numbers(done(d, "c", 0.06)) == {7: [7123]}
    assert nothing_is_left(d, made)


def test_an_answer_says_what_each_stage_ran_and_when() -> None:
    d = scene(sequence(), {"a": ["a"], "b": ["b-small"], "c": ["c"]})
    ask(d)
    done(d, "a", 0.01)
    done(d, "b", 0.03)
    (given,) = answered(done(d, "c", 0.06))
    assert given.variant == "a:a+b:b-small+c:c"
    assert given.accuracy == pytest.approx(0.9 * 0.7 * 0.7)
    assert (given.launched_s, given.done_s, given.run_s, given.batch_rows) == (0.0, 0.06, pytest.approx(3 * RUN_S), 1)
    assert [(run.stage, run.variant, run.jobs) for run in given.stages] == [
        ("a", "a", 1),
        ("b", "b-small", 1),
        ("c", "c", 1),
    ]
    assert [(run.began_s, run.launched_s, run.done_s) for run in given.stages] == [
        (0.0, 0.0, 0.01),
        (0.01, 0.01, 0.03),
        (0.03, 0.03, 0.06),
    ]


def test_a_measured_accuracy_of_the_whole_pipeline_stands_for_the_product() -> None:
    d = scene(sequence(measured_accuracy={("a", "b", "c"): 0.55}))
    ask(d)
    done(d, "a", 0.01)
    done(d, "b", 0.02)
    assert answered(done(d, "c", 0.03))[0].accuracy == 0.55
    d = scene(sequence(measured_accuracy={("a", "b-small", "c"): 0.55}))
    ask(d)
    done(d, "a", 0.01)
    done(d, "b", 0.02)
    assert answered(done(d, "c", 0.03))[0].accuracy == pytest.approx(0.9 * 0.8 * 0.7)


def test_stages_behind_the_same_one_run_at_once_and_a_join_waits_for_both() -> None:
    made = fan_out()
    d = scene(made)
    ask(d)
    assert {batch.worker for batch in launched(done(d, "a", 0.01))} == {"b", "c"}
    assert launched(done(d, "c", 0.02)) == []
    assert [batch.worker for batch in launched(done(d, "b", 0.05))] == ["d"]
    assert numbers(done(d, "d", 0.06)) == {7: [(712 * 10_000 + 713) * 10 + 4]}
    assert nothing_is_left(d, made)


def test_a_condition_says_which_branch_runs() -> None:
    made = branches()
    d = scene(made)
    ask(d, 7)
    assert [batch.worker for batch in launched(done(d, "a", 0.01))] == ["b"]
    done(d, "b", 0.02)
    (given,) = answered(done(d, "d", 0.03))
    assert (given.outputs["y"].tolist(), given.variant) == ([7124], "a:a+b:b+d:d")
    ask(d, 8, 0.04)
    assert [batch.worker for batch in launched(done(d, "a", 0.05))] == ["c"]
    done(d, "c", 0.06)
    (given,) = answered(done(d, "d", 0.07))
    assert (given.outputs["y"].tolist(), given.variant) == ([8134], "a:a+c:c+d:d")
    assert nothing_is_left(d, made)


def test_a_stage_that_cannot_do_without_a_skipped_one_is_skipped_too() -> None:
    made = flow(
        stage("a", x="query.x"),
        stage("b", x="a.y", when=odd),
        stage("c", x="b.y"),
        stage("d", x="c.y"),
        of=answer(y="a.y", z="d.y"),
    )
    d = scene(made)
    ask(d, 8)
    commands = done(d, "a", 0.01)
    assert refused(commands) == {8: NothingToAnswer}
    assert "stage d was skipped for this query" in reason(commands)
    assert nothing_is_left(d, made)


def test_a_join_all_of_whose_branches_were_skipped_is_skipped_too() -> None:
    made = flow(
        stage("a", x="query.x"),
        stage("b", x="a.y", when=odd),
        stage("c", x="a.y", when=odd),
        stage("d", either, left="b.y", right="c.y"),
    )
    d = scene(made)
    ask(d, 8)
    assert refused(done(d, "a", 0.01)) == {8: NothingToAnswer}
    assert nothing_is_left(d, made)


def test_a_join_that_takes_of_the_query_as_well_runs_without_its_branch() -> None:
    made = flow(stage("a", x="query.x"), stage("b", x="a.y", when=odd), stage("c", either, left="b.y", right="query.x"))
    d = scene(made)
    ask(d, 8)
    done(d, "a", 0.01)
    assert numbers(done(d, "c", 0.02)) == {8: [83]}


def test_a_query_all_of_whose_answer_was_skipped_is_told_so() -> None:
    made = flow(stage("a", x="query.x"), stage("b", x="a.y", when=odd))
    d = scene(made)
    ask(d, 8)
    commands = done(d, "a", 0.01)
    assert refused(commands) == {8: NothingToAnswer}
    assert "the answer is made of b.y, and stage b was skipped" in reason(commands)
    assert nothing_is_left(d, made)


def test_a_stage_makes_as_many_jobs_as_there_are_parts_and_the_join_has_them_in_their_order() -> None:
    made = parts()
    d = scene(made, {"a": ["a"], "b1": ["b"], "b2": ["b"], "c": ["c"]})
    ask(d, 3)
    assert [batch.worker for batch in launched(done(d, "a", 0.01))] == ["b1", "b2"]
    done(d, "b2", 0.02)
    assert launched(done(d, "b1", 0.03)) == []
    (last,) = launched(done(d, "b2", 0.04))
    assert last.jobs[0].inputs["x"].tolist() == [3102 + 3112 + 3122]
    (given,) = answered(done(d, "c", 0.05))
    assert [(run.stage, run.jobs) for run in given.stages] == [("a", 1), ("b", 3), ("c", 1)]
    assert nothing_is_left(d, made)


def test_parts_are_joined_in_their_order_whoever_comes_first() -> None:
    made = flow(stage("a", x="query.x"), stage("b", x="a.y"))
    d = scene(made, {"a": ["a"], "b1": ["b"], "b2": ["b"], "b3": ["b"]})
    ask(d, 1, numbers=[5, 6, 7])
    while running(d, "a"):
        done(d, "a", 0.01)
    commands = done(d, "b3", 0.02) + done(d, "b1", 0.02) + done(d, "b2", 0.03)
    assert numbers(commands) == {1: [512, 612, 712]}


def test_jobs_have_the_rows_that_the_config_says_and_the_last_has_the_rest() -> None:
    made = parts(rows_per_job=4)
    d = scene(made)
    ask(d, 9)
    (first,) = launched(done(d, "a", 0.01))
    assert [job.rows for job in first.jobs] == [4]
    (rest,) = launched(done(d, "b", 0.02))
    assert [job.rows for job in rest.jobs] == [4, 1]
    assert [job.inputs["x"].tolist() for job in rest.jobs] == [[914, 915, 916, 917], [918]]


def test_a_stage_without_parts_is_done_at_once() -> None:
    made = parts()
    d = scene(made)
    ask(d, 20)
    assert [batch.worker for batch in launched(done(d, "a", 0.01))] == ["c"]
    (given,) = answered(done(d, "c", 0.02))
    assert (given.outputs["y"].tolist(), given.variant) == ([3], "a:a+c:c"), "the sum of nothing"


def test_a_query_of_which_no_job_is_made_is_answered_as_it_comes() -> None:
    nothing = Node("a", (), lambda values: [], nothing={"y": np.zeros(0)})
    made = PipelineFlow(Graph((nothing,), lambda query, values: {"y": values["a"]["y"]}))
    d = scene(made)
    (given,) = answered(ask(d))
    assert (given.outputs["y"].tolist(), given.latency_s, given.queue_s, given.stages) == ([], 0.0, 0.0, ())
    assert nothing_is_left(d, made)


def test_parts_that_ran_on_different_variants_weigh_by_their_rows() -> None:
    made = parts()
    d = scene(made, {"a": ["a"], "b1": ["b"], "b2": ["b-small"], "c": ["c"]})
    ask(d, 3)
    done(d, "a", 0.01)
    done(d, "b1", 0.02)
    done(d, "b2", 0.02)
    (given,) = answered([*done(d, "b1", 0.03), *done(d, "c", 0.04)])
    assert given.variant == "a:a+b:b,b-small+c:c"
    assert given.accuracy == pytest.approx(0.9 * (2 * 0.8 + 0.7) / 3 * 0.7)


def test_without_outputs_as_in_simulations_all_goes_through() -> None:
    one = (Part({}, 1),)
    made = PipelineFlow(
        Graph(
            (
                Node("a", (), lambda values: one),
                Node("b", ("a",), lambda values: one * 3),
                Node("c", ("a",), lambda values: one, runs=lambda values: False),
                Node("d", ("b", "c"), lambda values: one),
            ),
            lambda query, values: {},
        )
    )
    d = scene(made)
    ask(d)
    outcomes = []
    for worker in ("a", "b", "b", "d"):
        batch = d.workers[worker].batch
        assert batch is not None
        outcomes += answered(d.on_done(worker, batch.id, (), RUN_S, 0.01))
    assert [given.variant for given in outcomes] == ["a:a+b:b+d:d"]
    assert nothing_is_left(d, made)


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


def test_late_queries_end_between_two_stages_where_they_are_dropped() -> None:
    made = sequence()
    d = scene(made, drop_late=True)
    ask(d)
    done(d, "a", 0.01)
    commands = done(d, "b", SLO_S)
    assert refused(commands) == {7: DeadlineMissed}
    assert reason(commands).startswith(
        "the deadline passed before all stages had run: stage 'b' was done 100.0 ms after"
    )
    assert launched(commands) == []
    assert nothing_is_left(d, made)


def test_the_last_result_answers_a_late_query_whatever_is_dropped() -> None:
    d = scene(flow(stage("a", x="query.x")), drop_late=True)
    ask(d)
    assert numbers(done(d, "a", SLO_S + 0.01)) == {7: [71]}


def test_whether_late_queries_are_dropped_may_change_with_the_plan() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    ask(d, 8)
    done(d, "a", 0.01)
    assert [batch.worker for batch in launched(done(d, "b", SLO_S))] == ["c"]
    d.apply(plan(made, 2, drop_late=True), SLO_S)
    assert refused(done(d, "a", SLO_S)) == {8: DeadlineMissed}


def test_a_query_is_given_up_at_twice_its_time_wherever_it_is() -> None:
    made = fan_out()
    d = scene(made, {"a": ["a"], "b": ["b"], "d": ["d"]})
    assert woken(ask(d)) == [2 * SLO_S]
    assert woken(ask(d, 8)) == []
    done(d, "a", 0.01)
    assert running(d, "b") == [7]
    d.on_worker_ready("c", WorkerInfo("cpu"), ["c"], 0.02)
    commands = d.on_timer(2 * SLO_S)
    assert refused(commands) == {7: DeadlineMissed, 8: DeadlineMissed}
    assert d.queues.rows("e") == 0
    assert launched(done(d, "b", 0.21)) == []
    assert launched(done(d, "c", 0.21)) == []
    done(d, "a", 0.22)
    assert nothing_is_left(d, made)


def test_a_query_that_is_too_old_between_two_stages_is_given_up_before_it_is_woken_for() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    commands = done(d, "a", 2 * SLO_S)
    assert refused(commands) == {7: DeadlineMissed}
    assert reason(commands) == "no answer after 200.0 ms, and the query had 100.0 ms; it was given up"
    assert launched(commands) == []


def test_who_waits_for_a_worker_that_never_comes_ends_at_its_deadline() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d)
    assert woken(done(d, "a", 0.01)) == [SLO_S]
    assert 7 in refused(d.on_timer(SLO_S))
    assert nothing_is_left(d, made)


def test_a_wake_up_is_never_asked_for_in_the_past() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d)
    assert woken(done(d, "a", SLO_S + 0.05)) == [SLO_S + 0.05], "no worker for the next stage, and the deadline is over"
    assert 7 in refused(d.on_timer(SLO_S + 0.05))


def test_queries_with_less_time_are_given_up_before_older_ones() -> None:
    made = sequence()
    d = scene(made)
    ask(d)
    assert woken(d.on_arrival(Query(8, "e", 0.01, 0.02, 1, asking(8).inputs), 0.01)) == [pytest.approx(0.03)]
    commands = d.on_timer(0.03)
    assert refused(commands) == {8: DeadlineMissed}
    assert woken(commands) == [2 * SLO_S]
    assert made.open_queries == 1


def test_a_flow_is_due_when_the_first_of_its_open_queries_is() -> None:
    made = sequence()
    random = Random(3)
    due_s: dict[int, float] = {}
    for number in range(300):
        allowed_s = random.random()
        query = Query(number, "e", 0.0, allowed_s, 1, asking(number).inputs)
        made.start(query, 0.0)
        due_s[number] = 2 * allowed_s
        while len(due_s) > 5:
            gone = random.choice(list(due_s))
            made.withdraw(Query(gone, "e", 0.0, 1.0))
            del due_s[gone]
        assert made.due_s == min(due_s.values())
    step = made.on_due(1.0)
    assert {outcome.query.id for outcome in step.outcomes if isinstance(outcome, Reject)} == {
        number for number, each_s in due_s.items() if each_s <= 1.0
    }
    assert made.due_s == min([each_s for each_s in due_s.values() if each_s > 1.0], default=inf)


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_a_flow_travels_between_processes(pickler: Any) -> None:
    made = pickle.loads(pickler.dumps(branches()))
    d = scene(made)
    ask(d, 7)
    for worker in "ab":
        done(d, worker, 0.01)
    assert numbers(done(d, "d", 0.02)) == {7: [7124]}


def test_jobs_are_ordered_by_the_deadline_of_the_whole() -> None:
    made = sequence()
    d = scene(made, {"a": ["a"]})
    ask(d, 1)
    d.on_arrival(Query(2, "e", 0.0, 5.0, 1, asking(2).inputs), 0.0)
    ask(d, 3, 0.001)
    for _ in range(2):
        done(d, "a", 0.01)
    d.on_worker_ready("b", WorkerInfo("cpu"), ["b"], 0.02)
    assert running(d, "b") == [1, 3, 2]


@pytest.mark.parametrize(("after_s", "variant"), [(0.0, "a"), (0.095, "a-small")])
def test_policies_see_the_deadline_without_what_later_stages_need(after_s: float, variant: str) -> None:
    d = scene(sequence(), {"w": ["a", "a-small"]}, after_s={"a": after_s})
    (launch,) = [command for command in ask(d) if isinstance(command, Launch)]
    assert launch.batch.variant == variant
    assert launch.batch.jobs[0].deadline_s == SLO_S


def test_a_batch_is_late_for_its_stage_where_later_ones_have_no_time_left() -> None:
    d = scene(sequence(), {"w": ["a"]}, selection=AdditiveIncrease(), after_s={"a": 0.05})
    for number, done_s in ((1, 0.04), (2, 0.06)):
        ask(d, number)
        done(d, "w", done_s)
        last = d.workers["w"].lanes[StageKey("e", "a")].last
        assert last is not None
        assert last.late == (done_s > 0.05)


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
    assert refused(d.on_workers_lost(["b"], 0.13)) == {1: NoWorker}
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
    assert refused(d.on_workers_lost(["a"], 0.03)) == {1: NoWorker}
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
