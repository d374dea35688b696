"""Endpoints that nothing can be planned for just now, beside others that are planned all the same."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool, Stage
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler_scene import endpoint, linear, observed, workers
from ipa_planner_scene import CUT, NUMBERS, OPTIONS, READ, SUM, pipeline, planned

FACES = endpoint("faces", linear("faces", 0.9, 0.01, 0.001))
MEASURED = {("cut", "read-s", "sum"): 0.7, ("cut", "read-l", "sum"): 0.8}


def without(*variants: str) -> Endpoint:
    """`NUMBERS` while these cannot be loaded."""
    stages = (
        replace(stage, candidates={"cpu": tuple(c for c in stage.candidates["cpu"] if c.variant not in variants)})
        for stage in (CUT, READ, SUM)
    )
    return pipeline("numbers", *stages)


def beside_faces(
    other: Endpoint, options: IpaOptions = OPTIONS, pool: Pool | None = None, **memory_bytes: int
) -> ClusterPlan:
    cluster = Cluster((other, FACES), (pool or Pool("cpu"),), memory_bytes)
    plan = planned(cluster, observed({other.name: 20.0, "faces": 5.0}, workers(cpu=5)), options)
    assert plan.served_qps == {other.name: 0.0, "faces": 5.0}
    assert plan.capacity_qps[other.name] == 0.0
    assert plan.stages[other.name] == {}
    assert set(plan.held.values()) == {frozenset({"faces"})}
    assert "faces" in plan.stages
    return plan


@pytest.mark.parametrize("accuracy", ["rank", "product", "measured"])
def test_a_stage_whose_last_variant_cannot_be_loaded_takes_only_its_endpoint_out(accuracy: str) -> None:
    options = IpaOptions(beta=0.01, accuracy=accuracy)  # type: ignore[arg-type]
    plan = beside_faces(replace(without("sum"), measured_accuracy=MEASURED), options)
    words = "numbers is left out: there is no variant of stage 'sum' of numbers for any pool (cpu)"
    assert plan.report.explanation[0].startswith(words)


def test_so_does_an_endpoint_without_stages_whose_only_variant_cannot_be_loaded() -> None:
    plan = beside_faces(Endpoint("digits", 1.0, {"cpu": ()}))
    words = "digits is left out: there is no variant of digits for any pool (cpu)"
    assert plan.report.explanation[0].startswith(words)


def test_a_stage_whose_smaller_variant_cannot_be_loaded_is_left_out_where_the_larger_one_fits_no_worker() -> None:
    sizes = {"cut": 1, "read-s": 1, "read-l": 3, "sum": 1, "faces": 1}
    plan = beside_faces(without("read-s"), pool=Pool("cpu", memory_bytes=2.0), **sizes)
    words = "no variant of stage 'read' of numbers fits a pool (cpu), for read-l would need more memory"
    assert words in plan.report.explanation[0]


def test_without_a_measured_combination_of_what_is_left_an_endpoint_is_left_out() -> None:
    partly = replace(without("read-l"), measured_accuracy={("cut", "read-l", "sum"): 0.8})
    plan = beside_faces(partly, IpaOptions(beta=0.01, accuracy="measured"))
    assert "its table has 1 combinations, none of the variants that are there" in plan.report.explanation[0]
    plan = beside_faces(NUMBERS, IpaOptions(beta=0.01, accuracy="measured"))
    assert "its table has 0 combinations" in plan.report.explanation[0]


def test_so_it_is_where_all_that_is_left_of_a_stage_is_never_right_and_accuracies_are_multiplied() -> None:
    never = Stage("read", ("cut",), {"cpu": (linear("read-s", 0.0, 0.002, 0.002),)})
    plan = beside_faces(pipeline("numbers", CUT, never, SUM), IpaOptions(beta=0.01, accuracy="product"))
    assert "all variants of stage 'read' have an accuracy of 0" in plan.report.explanation[0]


def test_a_variant_that_can_be_loaded_again_brings_its_endpoint_back() -> None:
    cluster = Cluster((without("read-l"), FACES), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 20.0, "faces": 5.0}, workers(cpu=5)))
    assert plan.served_qps == {"numbers": 20.0, "faces": 5.0}


def test_with_every_endpoint_left_out_there_is_a_plan_of_nothing_that_says_why() -> None:
    cluster = Cluster((without("cut"), Endpoint("digits", 1.0, {"cpu": ()})), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=2)))
    assert plan.held == {}
    assert plan.served_qps == {"numbers": 0.0, "digits": 0.0}
    assert [line.partition(" ")[0] for line in plan.report.explanation[:2]] == ["numbers", "digits"]
