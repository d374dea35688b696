"""Workers hold a variant once, however many stages of however many endpoints run it."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Pool, Stage
from autoscaler.planners.ipa.placement.colocation import Memory, Shared, share
from autoscaler.planners.ipa.placement.cover import cover
from autoscaler.planners.ipa.problem import IpaOptions, Option, PipelineProblem, StageProblem
from autoscaler_scene import SEEDS, endpoint, linear, observed, workers
from dispatch.query import StageKey
from dispatch.selection.policy import Candidate
from ipa_planner_scene import pipeline, planned

SIZES = {"detect": 500, "read": 200, "count": 200}
DETECT = Stage("detect", (), {"cpu": (linear("detect", 0.9, 0.002, 0.001),)})
READ, COUNT = (Stage(name, ("detect",), {"cpu": (linear(name, 0.9, 0.002, 0.001),)}) for name in ("read", "count"))


def test_pipelines_that_share_a_variant_share_a_worker_with_room_for_it_once() -> None:
    cluster = Cluster((pipeline("a", DETECT, READ), pipeline("b", DETECT, COUNT)), (Pool("cpu", 1000.0),), SIZES)
    plan = planned(cluster, observed({"a": 5.0, "b": 5.0}, workers(cpu=1)))
    assert plan.held == {"cpu-0": frozenset(SIZES)}
    assert plan.served_qps == {"a": 5.0, "b": 5.0}


def test_endpoints_of_one_task_share_a_worker_with_room_for_its_variant_once() -> None:
    digits = [endpoint(name, linear("cnn", 0.9, 0.002, 0.001)) for name in ("first", "second")]
    cluster = Cluster(tuple(digits), (Pool("cpu", 1000.0),), {"cnn": 600})
    plan = planned(cluster, observed({"first": 5.0, "second": 5.0}, workers(cpu=1)))
    assert plan.held == {"cpu-0": frozenset({"cnn"})}
    assert plan.served_qps == {"first": 5.0, "second": 5.0}


def test_members_of_several_ensembles_are_held_once() -> None:
    one = replace(linear("one", 0.9, 0.002, 0.001), members=("x", "y"))
    other = replace(linear("other", 0.9, 0.002, 0.001), members=("y", "z"))
    cluster = Cluster((endpoint("a", one), endpoint("b", other)), (Pool("cpu", 3.0),), dict.fromkeys("xyz", 1))
    plan = planned(cluster, observed({"a": 5.0, "b": 5.0}, workers(cpu=1)))
    assert plan.held == {"cpu-0": frozenset("xyz")}
    assert plan.served_qps == {"a": 5.0, "b": 5.0}


def test_with_too_little_memory_for_all_a_stage_goes_to_a_worker_that_holds_its_variant() -> None:
    """All take 1500 of two workers' 2000 bytes, and 2100 where the variant of two stages is held for each of them."""
    check = Stage("check", ("detect",), {"cpu": (linear("check", 0.9, 0.002, 0.001),)})
    endpoints = pipeline("a", DETECT, READ), pipeline("b", DETECT, check)
    cluster = Cluster(endpoints, (Pool("cpu", 1000.0),), {"detect": 600, "read": 300, "check": 600})
    plan = planned(cluster, observed({"a": 5.0, "b": 5.0}, workers(cpu=2)))
    assert sorted(map(sorted, plan.held.values())) == [["check", "read"], ["detect"]]
    assert plan.served_qps == {"a": 5.0, "b": 5.0}


def some_sharing(rng: np.random.Generator) -> tuple[Cluster, list[PipelineProblem]]:
    """Up to three pipelines of up to two stages, whose variants and members of ensembles are among five."""
    memory_bytes = {name: int(rng.integers(1, 5)) for name in "vwxyz"}
    problems = []
    for number in range(rng.integers(1, 4)):
        stages = []
        for s in range(rng.integers(1, 3)):
            options = []
            for own in rng.permutation(10)[: rng.integers(1, 4)]:
                names = [*"vwxyz", "vw", "wx", "xy", "yz", "vz"][own]
                candidate = Candidate(names, 0.9, (0.0, 0.001, 0.002), members=tuple(names) if len(names) > 1 else ())
                options.append(Option(candidate, 0.0, "cpu"))
            stages.append(StageProblem(f"s{s}", (f"s{s - 1}",) if s else (), tuple(options)))
        problems.append(PipelineProblem(f"p{number}", 1.0, 1.0, tuple(stages)))
    return Cluster((), (Pool("cpu", float(rng.integers(4, 13))),), memory_bytes), problems


@settings(max_examples=150, deadline=None)
@given(rng=SEEDS)
def test_workers_share_all_stages_exactly_where_some_choice_of_variants_fits_their_memory(
    rng: np.random.Generator,
) -> None:
    cluster, problems = some_sharing(rng)
    limit_bytes = cluster.pools[0].memory_bytes
    variants = [[o.candidate.variant for o in stage.options] for problem in problems for stage in problem.stages]
    fits = any(
        sum(cluster.memory_bytes[name] for name in set().union(*taken)) <= limit_bytes for taken in product(*variants)
    )
    found = share(problems, {"cpu": 1}, Memory(limit_bytes, cluster.memory_bytes), IpaOptions())
    assert isinstance(found, Shared) == fits
    if isinstance(found, Shared):
        taken = {name for own in found.pipelines.values() for (a,) in own.stages.values() for name in a.variant}
        assert sum(cluster.memory_bytes[name] for name in taken) <= limit_bytes


@settings(max_examples=150, deadline=None)
@given(rng=SEEDS)
def test_whoever_is_left_out_would_fit_no_worker_beside_what_it_holds(rng: np.random.Generator) -> None:
    cluster, problems = some_sharing(rng)
    limit_bytes = cluster.pools[0].memory_bytes
    there = workers(cpu=int(rng.integers(1, 4)))
    found = cover(cluster, problems, there, {})
    for own in found.held.values():
        assert sum(cluster.memory_bytes[name] for name in own) <= limit_bytes
    for problem in problems:
        for stage in problem.stages:
            key = StageKey(problem.name, stage.name)
            if key in found.active:
                needs = frozenset(found.active[key].variant)
                assert sum(needs <= own for own in found.held.values()) >= found.active[key].replicas
            for option in stage.options if key in found.missing else ():
                for worker in there:
                    everything = found.held.get(worker, frozenset()).union(option.candidate.variant)
                    assert sum(cluster.memory_bytes[name] for name in everything) > limit_bytes
