"""IPA's program on pipelines by hand: accuracy, waits, overload, what binds, and what is refused."""

from dataclasses import replace
from itertools import product
from math import inf, log

import numpy as np
import pytest

from autoscaler.cluster.plan import Status
from autoscaler.planners.ipa import program
from autoscaler.planners.ipa.accuracy import ranks
from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem, Workers
from autoscaler.planners.ipa.solver import solve
from catalog.errors import ConfigError
from dispatch.selection.policy import Candidate
from ipa_scene import option, pipeline, some_pipeline, stage

LIGHT = option("light", 0.6, 0.01, 0.01, cost=1.0)
HEAVY = option("heavy", 0.9, 0.05, 0.05, cost=2.0)


def test_ranks_go_from_0_to_1_in_equal_steps_and_equals_share_one() -> None:
    accuracies = {"a": 0.9, "b": 0.2, "c": 0.9, "d": 0.3}
    of = stage("s", *(option(name, accuracy, 0.1, 0.1) for name, accuracy in accuracies.items()))
    assert ranks(of) == {"b": 0.0, "d": 0.5, "a": 1.0, "c": 1.0}
    assert ranks(stage("s", LIGHT)) == {"light": 1.0}


def test_the_weights_decide_between_accuracy_and_cost() -> None:
    problem = pipeline(stage("s", LIGHT, HEAVY), load_qps=40.0)
    accurate = solve((problem,), IpaOptions(alpha=1.0, beta=0.01)).pipelines["p"]
    cheap = solve((problem,), IpaOptions(alpha=0.01, beta=1.0)).pipelines["p"]
    assert accurate.stages["s"][0].variant == "heavy"
    assert cheap.stages["s"][0].variant == "light"
    assert cheap.cost < accurate.cost


def test_a_replica_whose_batches_follow_each_other_bears_more_and_answers_no_sooner() -> None:
    """20 ms, of which the next batch waits for 12 only: two replicas bear 160 jobs per second instead of 100."""
    candidate = replace(LIGHT.candidate, latency_s=(0.0, 0.02), follow_s=())
    waits = replace(LIGHT, candidate=candidate)
    follows = replace(LIGHT, candidate=replace(candidate, follow_s=(0.0, 0.012)))
    found = [
        solve((pipeline(stage("s", each), load_qps=160.0),), IpaOptions()).pipelines["p"] for each in (waits, follows)
    ]
    assert [each.stages["s"][0].replicas for each in found] == [4, 2]
    assert [each.stages["s"][0].run_s for each in found] == [0.02, 0.02]


def test_batches_grow_only_where_that_saves_more_than_their_penalty() -> None:
    one = option("one", 0.9, 0.09, 0.01)  # 10 rows/s one at a time, 30 in fours
    problem = pipeline(stage("s", one), load_qps=30.0)
    (active,) = solve((problem,), IpaOptions(beta=0.01, delta=1e-6)).pipelines["p"].stages["s"]
    assert (active.batch_rows, active.replicas) == (4, 2 if 4 / 0.13 < 30 else 1)
    (active,) = solve((problem,), IpaOptions(beta=0.01, delta=1.0)).pipelines["p"].stages["s"]
    assert (active.batch_rows, active.replicas) == (1, 3)


def test_a_batch_waits_for_its_rows_as_long_as_they_take_to_come() -> None:
    one = option("one", 0.9, 0.09, 0.01)
    (active,) = solve((pipeline(stage("s", one, jobs=2.0), load_qps=15.0),), IpaOptions()).pipelines["p"].stages["s"]
    assert active.wait_s == pytest.approx(3 / 30.0)
    (active,) = (
        solve((pipeline(stage("s", one, jobs=2.0), load_qps=15.0, slo_s=0.2),), IpaOptions()).pipelines["p"].stages["s"]
    )
    assert active.batch_rows == 2  # 0.11 s and 1 / 30 s; fours would take 0.13 s and 0.1 s


def test_latency_is_that_of_the_longest_path() -> None:
    stages = (
        stage("a", option("a", 0.9, 0.1, 0.1)),
        stage("b", option("b", 0.9, 0.2, 0.1), after=["a"]),
        stage("c", option("c", 0.9, 0.0, 0.1), after=["a"]),
        stage("d", option("d", 0.9, 0.0, 0.1), after=["b", "c"]),
    )
    found = solve((pipeline(*stages, slo_s=0.6, load_qps=1.0),), IpaOptions()).pipelines["p"]
    assert found.latency_s == pytest.approx(0.6)


def test_a_load_of_nothing_has_one_replica_and_rows_by_themselves() -> None:
    found = solve((pipeline(stage("s", LIGHT, HEAVY), load_qps=0.0),), IpaOptions()).pipelines["p"]
    (active,) = found.stages["s"]
    assert (active.replicas, active.batch_rows, active.variant) == (1, 1, "heavy")
    assert found.served_qps == 0.0


def test_the_product_of_accuracies_weighs_stages_by_what_they_lose() -> None:
    problem = pipeline(
        stage("a", option("a0", 0.50, 0.01, 0.01), option("a1", 0.51, 0.1, 0.1)),
        stage("b", option("b0", 0.50, 0.01, 0.01), option("b1", 0.99, 0.1, 0.1), after=["a"]),
        slo_s=0.25,
        load_qps=1.0,
    )
    found = solve((problem,), IpaOptions(accuracy="product")).pipelines["p"]
    assert [own[0].variant for own in found.stages.values()] == ["a0", "b1"]
    assert found.accuracy == pytest.approx(log(0.5 * 0.99))


def test_only_measured_combinations_are_taken_where_accuracy_was_measured() -> None:
    problem = pipeline(stage("a", LIGHT, HEAVY), stage("b", LIGHT, HEAVY, after=["a"]), load_qps=1.0)
    table = {("light", "heavy"): 0.7, ("heavy", "light"): 0.5, ("other", "heavy"): 1.0}
    found = solve((replace(problem, measured_accuracy=table),), IpaOptions(accuracy="measured")).pipelines["p"]
    assert tuple(own[0].variant for own in found.stages.values()) == ("light", "heavy")
    assert found.accuracy == 0.7


def test_too_few_workers_serve_as_much_as_they_can_and_say_so() -> None:
    problem = pipeline(stage("s", LIGHT, HEAVY), load_qps=400.0)
    found = solve((problem,), IpaOptions(), Workers({"": 2}))
    own = found.pipelines["p"]
    assert own.served_qps == pytest.approx(2 * 4 / 0.05)  # fours, the largest batches that it has a profile for
    assert own.stages["s"][0].variant == "light"
    assert (
        found.explanation[0] == "p: 40.0% of 400 queries/s can be borne in time, no plan within the limits bears more."
    )
    assert found.explanation[-1] == "workers: all 2 workers are needed."


def test_pipelines_lose_the_same_part_of_their_loads() -> None:
    problems = [pipeline(stage("s", LIGHT), load_qps=load, name=f"p{load:.0f}") for load in (100.0, 300.0)]
    found = solve(problems, IpaOptions(), Workers({"": 4}))
    parts = [found.pipelines[problem.name].served_qps / problem.load_qps for problem in problems]
    assert parts[0] == pytest.approx(parts[1])
    assert parts[0] == pytest.approx(0.8)


def test_what_no_choice_can_answer_in_time_gets_its_fastest() -> None:
    found = solve((pipeline(stage("s", LIGHT, HEAVY), slo_s=0.015, load_qps=10.0),), IpaOptions())
    (active,) = found.pipelines["p"].stages["s"]
    assert (active.variant, active.batch_rows) == ("light", 1)
    assert found.explanation[0] == "p cannot be answered within 0.015 s: its fastest choice takes 0.02 s."
    assert "heavy would be more accurate, and takes the path to at least 0.1 s of 0.02 s" in found.explanation[1]


def test_with_fewer_workers_than_stages_there_is_no_plan() -> None:
    problem = pipeline(stage("a", LIGHT), stage("b", LIGHT, after=["a"]))
    found = solve((problem,), IpaOptions(), Workers({"": 1}))
    assert (found.status, found.pipelines, found.impossible) == (Status.NO_ANSWER, {}, True)
    assert found.explanation == ("2 stages need 2 workers of their own, and there may be 1: add workers.",)
    found = solve((problem,), IpaOptions(), Workers({"": 0}))
    assert "Stage 'a' of p has no worker that can run it" in found.explanation[0]


def test_without_time_there_is_no_plan_and_it_is_not_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoscaler.planners.ipa.solver.Clock", lambda limit_s: program.Clock(0.0))
    found = solve((pipeline(stage("s", LIGHT, HEAVY)),), IpaOptions())
    assert (found.status, found.pipelines, found.impossible) == (Status.NO_ANSWER, {}, False)
    assert found.explanation[0].startswith("No answer within 10 s of solver time: have fewer variants")


class SlowProgram(program.Program):
    """Finds the most that can be served at once, and needs all the time that it is given without proving it."""

    def solve(self, clock: program.Clock, *, in_time: bool = True) -> program.Answer:
        answer = super().solve(program.Clock(60.0), in_time=in_time)
        if not in_time:
            return answer
        clock.spend(clock.left_s)
        return replace(answer, proven=False)


def test_time_is_left_for_a_plan_where_it_takes_all_to_prove_what_can_be_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems = tuple(
        pipeline(stage("a", LIGHT, HEAVY), stage("b", LIGHT, after=["a"]), load_qps=200.0, name=name) for name in "pq"
    )
    workers = Workers({"": 6})
    proven = solve(problems, IpaOptions(), workers)
    monkeypatch.setattr("autoscaler.planners.ipa.overload.Program", SlowProgram)
    found = solve(problems, IpaOptions(), workers)
    assert (proven.status, found.status, found.gap) == (Status.OPTIMAL, Status.FEASIBLE, None)
    assert 0 < proven.pipelines["p"].served_qps < 200.0
    assert {n: p.served_qps for n, p in found.pipelines.items()} == {
        n: p.served_qps for n, p in proven.pipelines.items()
    }


@pytest.mark.parametrize(
    ("problem", "options", "limits", "said"),
    [
        (
            pipeline(stage("s", LIGHT, HEAVY), slo_s=0.09, load_qps=1.0),
            IpaOptions(),
            {},
            "p, s: heavy would be more accurate, and takes the path to at least 0.1 s of 0.09 s.",
        ),
        (
            pipeline(stage("s", LIGHT, HEAVY), load_qps=40.0),
            IpaOptions(beta=0.5),
            {},
            "p, s: heavy would bring 1 more accuracy for 5 more cost: that counts 1 against 2.5.",
        ),
        (
            pipeline(stage("s", LIGHT, HEAVY), load_qps=40.0),
            IpaOptions(),
            {"": 2},
            "p, s: heavy would be more accurate, and needs 1 more workers than there may be.",
        ),
    ],
)
def test_it_is_said_what_the_next_better_variant_would_take(
    problem: PipelineProblem, options: IpaOptions, limits: dict[str, int], said: str
) -> None:
    found = solve((problem,), options, Workers(limits))
    assert found.pipelines["p"].stages["s"][0].variant == "light"
    assert said in found.explanation


def test_many_pipelines_are_planned_one_by_one_where_workers_have_no_limit() -> None:
    problems = [some_pipeline(np.random.default_rng(seed), f"p{seed}", ("cpu",)) for seed in range(6)]
    together = solve(problems, IpaOptions())
    alone = sum(solve((problem,), IpaOptions()).objective for problem in problems)
    assert together.objective == pytest.approx(alone, abs=1e-6)


GOOD = stage("s", LIGHT)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: stage("s"), "stage 's' has no options"),
        (lambda: stage("s", LIGHT, jobs=-1.0), "jobs_per_query is -1"),
        (lambda: replace(GOOD, rows_per_job=0), "rows_per_job is 0; give a number from 1"),
        (lambda: stage("s", LIGHT, LIGHT), "variant 'light' twice"),
        (lambda: stage("s", replace(LIGHT, cost=inf)), "cost is inf"),
        (lambda: stage("s", Option(Candidate("v", 2.0, (0.0, 1.0)), 1.0)), "accuracy is 2"),
        (lambda: stage("s", Option(Candidate("v", 0.5, (0.0,)), 1.0)), "'v' has no latency"),
        (lambda: stage("s", Option(Candidate("v", 0.5, (0.0, 0.0)), 1.0)), "a latency is not a time above 0"),
        (lambda: pipeline(GOOD, slo_s=0.0), "slo_s is 0"),
        (lambda: pipeline(GOOD, load_qps=inf), "load_qps is inf"),
        (lambda: pipeline(), "has no stages"),
        (lambda: pipeline(GOOD, GOOD), "has stage 's' twice"),
        (
            lambda: pipeline(stage("s", LIGHT, after=["t"])),
            "which is not among the stages before it",
        ),
        (lambda: PipelineProblem("p", 1.0, 1.0, (GOOD,), {("a", "b"): 0.5}), "for a variant of each of the 1 stages"),
        (lambda: IpaOptions(alpha=-1.0), "alpha of the IPA planner is -1.0; give a number from 0"),
        (lambda: IpaOptions(beta=inf), "beta"),
        (lambda: IpaOptions(delta=-1.0), "delta"),
        (lambda: IpaOptions(accuracy="best"), "one of rank, product, measured"),  # type: ignore[arg-type]
        (lambda: IpaOptions(batch_sizes=(2, 4)), "with 1 among them"),
        (lambda: IpaOptions(time_limit_s=0.0), "a time above 0"),
        (lambda: Workers({"gpu": -1}), "'gpu' are limited to -1"),
        (lambda: solve((pipeline(GOOD), pipeline(GOOD)), IpaOptions()), "pipeline 'p' is there 2 times"),
        (lambda: solve((pipeline(GOOD),), IpaOptions(accuracy="measured")), "its table has 0 combinations"),
        (
            lambda: solve((pipeline(stage("s", option("v", 0.0, 0.1, 0.1))),), IpaOptions(accuracy="product")),
            "all variants of stage 's' have an accuracy of 0",
        ),
    ],
)
def test_what_nothing_can_be_planned_with_is_refused(make, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=said):
        make()


def test_combinations_beyond_the_table_are_never_taken() -> None:
    names = ("light", "heavy")
    problem = pipeline(
        *(stage(f"s{i}", LIGHT, HEAVY, after=[f"s{i - 1}"] if i else []) for i in range(3)), load_qps=1.0
    )
    for only in product(names, repeat=3):
        table = {only: 0.1}
        found = solve((replace(problem, measured_accuracy=table),), IpaOptions(accuracy="measured")).pipelines["p"]
        assert tuple(own[0].variant for own in found.stages.values()) == only
