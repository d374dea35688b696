"""More accurate variants beside the planned ones."""

from dataclasses import replace

import pytest

from autoscaler.cluster.cluster import Cluster, Pool, Stage
from autoscaler.planners.ipa.placement.upgrades import faster, upgraded, upgrades
from autoscaler.planners.ipa.problem import Option, PipelineProblem, StageProblem
from autoscaler.planners.ipa.solution import Active, PipelineSolution
from autoscaler_scene import linear, observed, workers
from ipa_planner_scene import CUT, ONE_BYTE, OPTIONS, READ, SUM, pipeline, planned

FOUR = replace(OPTIONS, upgrades=4)
BEST = linear("read-xl", 0.97, 0.06, 0.06)
READ_3 = Stage("read", ("cut",), {"cpu": (*READ.candidates["cpu"], BEST)})
STRIPS = pipeline("strips", CUT, READ_3, SUM, slo_s=0.5)


def active(variant: str, replicas: int = 2, cost: float = 2.0) -> Active:
    return Active(variant, "cpu", 4, replicas, cost, 0.1, 0.0, 10.0)


def stage(**options: tuple[float, float]) -> StageProblem:
    """Variants with their accuracy and cost."""
    found = (Option(linear(name, accuracy, 0.01, 0.01), cost, "cpu") for name, (accuracy, cost) in options.items())
    return StageProblem("read", (), (*found, Option(linear("elsewhere", 0.99, 0.001, 0.001), 0.5, "gpu")))


def test_upgrades_are_more_accurate_cost_no_more_and_run_on_the_same_device_type() -> None:
    of = stage(worse=(0.7, 1), planned=(0.8, 1), better=(0.85, 1), best=(0.9, 1), dear=(0.95, 2), equal=(0.8, 1))
    assert [each.variant for each in upgrades(of, "planned", "cpu")] == ["better", "best"]
    assert upgrades(of, "dear", "cpu") == ()
    assert upgrades(of, "planned", "gpu") == (), "it is not on that device type"


def test_replicas_hold_the_upgrades_of_their_own_stage() -> None:
    first = stage(small=(0.8, 1), large=(0.9, 1))
    problem = PipelineProblem("page", 1.0, 5.0, (first, StageProblem("next", ("read",), first.options)))
    solution = PipelineSolution({"read": (active("small"),), "next": (active("large"),)}, 0.0, 4.0, 0.5, 5.0)
    stages = upgraded(problem, solution, 4).stages
    assert [own.also for (own,) in stages.values()] == [("large",), ()]
    assert stages["read"][0].variant == "small"
    first = stage(small=(0.8, 1), large=(0.9, 1), huge=(0.95, 1))
    (own,) = upgraded(PipelineProblem("page", 1.0, 5.0, (first,)), solution, 1).stages["read"]
    assert own.also == ("large",), "the next better one has time most often"


def test_workers_hold_better_variants_of_their_stage_beside_the_planned_ones() -> None:
    cluster = Cluster((STRIPS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"strips": 60.0}, workers(cpu=4)), FOUR)
    ((planned_name, _),) = plan.stages["strips"]["read"].variants.items()
    assert planned_name == "read-l", "the best bears too little"
    assert {worker: plan.fallback[worker] for worker in plan.held} == dict.fromkeys(plan.held, ("read-xl",))
    longest_s = {choice.beyond_s for choice in plan.stages["strips"].values()}
    assert len(longest_s) == 1
    (beyond_s,) = longest_s
    assert beyond_s is not None
    # with a batch of that in front of each of the three stages, the pipeline takes its whole objective
    assert sum(c.run_s + c.wait_s + beyond_s for c in plan.stages["strips"].values()) == pytest.approx(0.5)
    # all four workers hold all stages, and each stage counts on those that were planned for it
    shares = {name: choice.worker_share for name, choice in plan.stages["strips"].items()}
    assert shares == {name: choice.workers / 4 for name, choice in plan.stages["strips"].items()}
    assert sum(shares.values()) == 1.0


def test_no_better_variant_is_held_whose_single_row_would_make_others_late() -> None:
    slow = Stage("read", ("cut",), {"cpu": (*READ.candidates["cpu"], linear("read-xl", 0.97, 0.3, 0.1))})
    cluster = Cluster((pipeline("strips", CUT, slow, SUM, slo_s=0.5),), (Pool("cpu"),))
    plan = planned(cluster, observed({"strips": 60.0}, workers(cpu=4)), FOUR)
    assert plan.fallback == {}


def test_better_variants_are_held_as_far_as_memory_goes() -> None:
    for memory_bytes, held in ((3, {}), (4, ("read-xl",))):
        cluster = Cluster((STRIPS,), (Pool("cpu", memory_bytes=memory_bytes),), ONE_BYTE | {"read-xl": 1})
        plan = planned(cluster, observed({"strips": 60.0}, workers(cpu=4)), FOUR)
        assert {worker: len(own) for worker, own in plan.held.items()} == dict.fromkeys(plan.held, 3)
        assert plan.fallback == (dict.fromkeys(plan.held, held) if held else {})


def test_workers_of_one_stage_may_take_as_long_as_the_deadline_allows() -> None:
    # a batch of another stage in front of each would be too late, so that nobody stands by
    read = Stage("read", ("cut",), {"cpu": (*READ.candidates["cpu"], linear("read-xl", 0.97, 0.015, 0.015))})
    cluster = Cluster((pipeline("strips", CUT, read, SUM, slo_s=0.080),), (Pool("cpu"),))
    plan = planned(cluster, observed({"strips": 100.0}, workers(cpu=4)), FOUR)
    assert {len(held) for held in plan.held.values()} == {1}
    assert {choice.beyond_s for choice in plan.stages["strips"].values()} == {None}
    assert {choice.worker_share for choice in plan.stages["strips"].values()} == {1.0}
    assert plan.fallback == dict.fromkeys(("cpu-1", "cpu-2"), ("read-xl",))


def test_each_device_type_has_the_upgrades_that_it_can_run() -> None:
    gpu = tuple(linear(each.variant, each.accuracy, 0.001, 0.001) for each in READ.candidates["cpu"])
    both = Stage("read", ("cut",), {"cpu": READ_3.candidates["cpu"], "gpu": gpu})
    cluster = Cluster((pipeline("strips", CUT, both, SUM, slo_s=0.5),), (Pool("cpu"), Pool("gpu")))
    plan = planned(cluster, observed({"strips": 60.0}, workers(cpu=4, gpu=1)), FOUR)
    assert all(worker.startswith("cpu") for worker in plan.fallback)


def test_with_measured_accuracies_an_upgrade_has_raised_that_of_the_pipeline() -> None:
    for measured, held in ((0.9, True), (0.7, False)):
        accuracies = {("cut", "read-s", "sum"): 0.6, ("cut", "read-l", "sum"): 0.8, ("cut", "read-xl", "sum"): measured}
        endpoint = pipeline("strips", CUT, READ_3, SUM, slo_s=0.5, measured_accuracy=accuracies)
        options = replace(FOUR, accuracy="measured")
        plan = planned(Cluster((endpoint,), (Pool("cpu"),)), observed({"strips": 60.0}, workers(cpu=4)), options)
        assert set(plan.stages["strips"]["read"].variants) == {"read-l"}
        assert bool(plan.fallback) is held


def test_what_an_endpoint_of_one_task_might_select_is_nobodys_upgrade() -> None:
    alone = pipeline("digits", Stage("", (), {"cpu": (BEST,)}), slo_s=0.5)
    plan = planned(
        Cluster((STRIPS, alone), (Pool("cpu"),)), observed({"strips": 60.0, "digits": 1.0}, workers(cpu=6)), FOUR
    )
    assert plan.fallback == {}


def test_endpoints_of_one_task_select_by_themselves() -> None:
    cluster = Cluster((pipeline("digits", Stage("", (), READ_3.candidates), slo_s=0.5),), (Pool("cpu"),))
    plan = planned(cluster, observed({"digits": 60.0}, workers(cpu=1)), FOUR)
    assert plan.fallback == {}


def test_without_upgrades_a_plan_says_nothing_of_them() -> None:
    plan = planned(Cluster((STRIPS,), (Pool("cpu"),)), observed({"strips": 60.0}, workers(cpu=4)))
    assert plan.fallback == {}
    assert {choice.beyond_s for choice in plan.stages["strips"].values()} == {None}


def test_the_fastest_comes_first_of_what_a_worker_falls_back_to() -> None:
    names = {"planned": 0.05, "fast": 0.02, "fastest": 0.01, "slow": 0.06, "dear": 0.005}
    found = tuple(
        Option(linear(name, 0.8, 0.01, row_s), 2.0 if name == "dear" else 1.0, "cpu") for name, row_s in names.items()
    )
    of = StageProblem("read", (), found)
    assert [each.variant for each in faster(of, active("planned"), "cpu")] == ["fastest", "fast"]
    assert faster(of, active("fastest"), "cpu") == ()
    assert faster(of, active("planned"), "gpu") == (), "it is not on that device type"


def test_workers_hold_what_they_fall_back_to_before_better_variants() -> None:
    cluster = Cluster((STRIPS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"strips": 60.0}, workers(cpu=4)), replace(FOUR, fallback=1))
    assert {worker: plan.fallback[worker] for worker in plan.held} == dict.fromkeys(plan.held, ("read-s", "read-xl"))
    alone = planned(cluster, observed({"strips": 60.0}, workers(cpu=4)), replace(OPTIONS, fallback=1))
    assert {worker: alone.fallback[worker] for worker in alone.held} == dict.fromkeys(alone.held, ("read-s",))


def test_nothing_is_faster_in_batches_that_the_planned_variant_cannot_run_on_a_device_type() -> None:
    """A worker may hold it there for another stage, planned in smaller batches."""
    options = (
        Option(linear("big", 0.9, 0.02, 0.01, rows=1), 1.0, "cpu"),
        Option(linear("big", 0.9, 0.02, 0.01, rows=8), 1.0, "gpu"),
        *(Option(linear("small", 0.8, 0.01, 0.005, rows=8), 1.0, device) for device in ("cpu", "gpu")),
    )
    of = StageProblem("read", (), options)
    assert faster(of, active("big"), "cpu") == ()
    assert [each.variant for each in faster(of, active("big"), "gpu")] == ["small"]
