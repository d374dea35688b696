"""Queries that run through several stages: sequence, fan-out and join, conditions, parts, and their answers."""

import pickle
from typing import Any

import cloudpickle
import numpy as np
import pytest

from catalog.errors import (
    NothingToAnswer,
)
from dispatch.flow.pipeline import PipelineFlow
from dispatch.pipeline.graph import Graph, Node, Part
from dispatch_scene import launched
from pipeline_scene import (
    RUN_S,
    answer,
    answered,
    ask,
    branches,
    done,
    either,
    fan_out,
    flow,
    nothing_is_left,
    numbers,
    odd,
    parts,
    reason,
    refused,
    running,
    scene,
    sequence,
    stage,
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


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_a_flow_travels_between_processes(pickler: Any) -> None:
    made = pickle.loads(pickler.dumps(branches()))
    d = scene(made)
    ask(d, 7)
    for worker in "ab":
        done(d, worker, 0.01)
    assert numbers(done(d, "d", 0.02)) == {7: [7124]}
