"""Plans of pipelines: who holds what, by which limits, and what they say of themselves."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from autoscaler.cluster.cluster import Cluster, Pool, Stage
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import NoPlan, Status
from autoscaler.planners.ipa.ipa_planner import IpaPlanner
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.ipa.program import Clock
from autoscaler_scene import SEEDS, endpoint, linear, observed, workers
from catalog.errors import ConfigError
from dispatch.query import ONLY_STAGE
from dispatch.selection.policy import Candidate
from dispatch.worker_info import workers_of
from ipa_planner_scene import NUMBERS, ONE_BYTE, OPTIONS, pipeline, planned
from ipa_scene import GRAPHS


def test_every_stage_has_a_worker_of_its_own_and_the_rest_stand_by_where_room_is_least() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=5)))
    assert plan.report.status is Status.OPTIMAL
    assert plan.own_balancing == {"numbers"}
    assert plan.shares == {}
    assert len(plan.held) == 5
    counts = {name: choice.workers for name, choice in plan.stages["numbers"].items()}
    assert counts == {"cut": 1, "read": 3, "sum": 1}
    assert plan.accuracy["numbers"] == pytest.approx(0.9 * 0.95)
    assert plan.served_qps == {"numbers": 20.0}
    assert plan.capacity_qps["numbers"] > 20.0


def test_workers_keep_what_they_hold() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", memory_bytes=1),), ONE_BYTE)
    held = {"cpu-0": frozenset({"sum"}), "cpu-1": frozenset({"read-l"}), "cpu-2": frozenset({"cut"})}
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=3), held))
    assert plan.held == held


def test_two_workers_hold_a_variant_of_each_of_three_stages() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 20.0}, workers(cpu=2)))
    assert plan.held == dict.fromkeys(("cpu-0", "cpu-1"), frozenset({"cut", "read-l", "sum"}))
    assert plan.served_qps == {"numbers": 20.0}
    assert {choice.workers for choice in plan.stages["numbers"].values()} == {2}
    assert {choice.cost for choice in plan.stages["numbers"].values()} == {0.0}, "workers that are there anyway"
    assert "3 stages share all workers (2 of cpu)" in plan.report.explanation[0]


def test_workers_that_share_take_a_lighter_variant_where_their_time_is_short() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 160.0}, workers(cpu=2)))
    assert all("read-s" in held for held in plan.held.values())
    assert plan.served_qps == {"numbers": 160.0}


def test_workers_are_not_shared_where_the_waits_of_that_take_too_long() -> None:
    tight = replace(NUMBERS, slo_s=0.03)
    plan = planned(Cluster((tight,), (Pool("cpu"),)), observed({"numbers": 900.0}, workers(cpu=3)))
    assert all(len(held) == 1 for held in plan.held.values())
    ample = planned(Cluster((NUMBERS,), (Pool("cpu"),)), observed({"numbers": 900.0}, workers(cpu=3)))
    assert all(len(held) == 3 for held in ample.held.values())
    assert ample.served_qps["numbers"] > plan.served_qps["numbers"]


def test_what_sharing_workers_cannot_bear_is_said() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 1000.0}, workers(cpu=2)))
    assert 100.0 < plan.served_qps["numbers"] < 1000.0
    assert plan.capacity_qps["numbers"] == pytest.approx(plan.served_qps["numbers"])
    assert any("can be borne in time" in line for line in plan.report.explanation)


def test_workers_whose_batches_follow_each_other_bear_twice_as_much_whether_they_are_shared_or_not() -> None:
    """Batches keep a worker for half of what they take, where it is shared, where memory is short, and alone."""

    def halved(candidate: Candidate) -> Candidate:
        return replace(candidate, follow_s=tuple(each_s / 2 for each_s in candidate.latency_s))

    def one_variant(stage: Stage, made: Callable[[Candidate], Candidate]) -> Stage:
        return replace(stage, candidates={"cpu": (made(stage.candidates["cpu"][0]),)})

    memory = {"cut": 2, "read-s": 1, "sum": 2}
    scenes: list[tuple[Pool, Mapping[str, int], int, float]] = [
        (Pool("cpu"), {}, 2, 1000.0),
        (Pool("cpu", 3.0), memory, 2, 5.0),
        (Pool("cpu"), {}, 5, 20.0),
    ]
    for pool, memory_bytes, count, load_qps in scenes:
        capacities_qps = []
        for made in (lambda each: each, halved):
            endpoint = pipeline("numbers", *(one_variant(stage, made) for stage in NUMBERS.stages))
            plan = planned(
                Cluster((endpoint,), (pool,), memory_bytes), observed({"numbers": load_qps}, workers(cpu=count))
            )
            capacities_qps.append(plan.capacity_qps["numbers"])
        assert capacities_qps[1] == pytest.approx(2.0 * capacities_qps[0], rel=0.15)


def test_with_too_little_memory_for_sharing_every_stage_is_held_even_so() -> None:
    memory = {"cut": 2, "read-s": 1, "read-l": 3, "sum": 2}
    cluster = Cluster((NUMBERS,), (Pool("cpu", 3.0),), memory)
    plan = planned(cluster, observed({"numbers": 5.0}, workers(cpu=2)))
    assert frozenset().union(*plan.held.values()) == {"cut", "read-s", "sum"}
    assert plan.report.status is Status.HEURISTIC
    assert plan.served_qps["numbers"] == 5.0


def test_stages_that_fit_nobody_are_named_and_nothing_is_promised() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", 3.0),), {"cut": 3, "read-s": 3, "read-l": 3, "sum": 3})
    plan = planned(cluster, observed({"numbers": 5.0}, workers(cpu=2)))
    assert plan.served_qps["numbers"] == 0.0
    assert "numbers" not in plan.accuracy
    assert any("No worker has memory for a variant of numbers, " in line for line in plan.report.explanation)


def test_without_workers_nothing_is_held() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 5.0}, {}))
    assert plan.held == {}
    assert plan.served_qps["numbers"] == 0.0
    assert "has no worker that can run it" in plan.report.explanation[0]


def test_a_pool_of_free_size_gets_what_is_needed_and_no_more() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", price_per_h=0.1, max_workers=20, memory_bytes=1),), ONE_BYTE)
    plan = planned(cluster, observed({"numbers": 100.0}, workers(cpu=1), {"cpu-0": frozenset({"cut"})}))
    needed = sum(choice.workers for choice in plan.stages["numbers"].values())
    assert plan.pool_sizes == {"cpu": needed}
    assert set(plan.held) == {"cpu-0", *(f"cpu+{number}" for number in range(1, needed))}
    assert plan.held["cpu-0"] == {"cut"}
    assert sum(choice.cost for choice in plan.stages["numbers"].values()) == pytest.approx(0.1 * needed)


def test_where_no_more_are_to_be_had_those_that_are_there_are_planned_with() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", price_per_h=0.1, max_workers=20),))
    observation = replace(observed({"numbers": 300.0}, workers(cpu=3)), prices_per_h={"cpu": inf})
    assert planned(cluster, observation).pool_sizes == {"cpu": 3}


def test_a_higher_price_buys_less_accuracy() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", price_per_h=1.0, max_workers=50),))
    observation = observed({"numbers": 400.0}, {})
    cheap = planned(cluster, observation, IpaOptions(beta=0.001))
    dear = planned(cluster, replace(observation, prices_per_h={"cpu": 500.0}), IpaOptions(beta=0.001))
    assert cheap.accuracy["numbers"] == pytest.approx(0.9 * 0.95)
    assert dear.accuracy["numbers"] == pytest.approx(0.9 * 0.8)
    assert dear.pool_sizes["cpu"] < cheap.pool_sizes["cpu"]


def test_an_endpoint_without_stages_is_a_pipeline_of_one() -> None:
    cluster = Cluster(
        (endpoint("digits", linear("s", 0.8, 0.01, 0.001), linear("l", 0.9, 0.02, 0.01)),), (Pool("cpu"),)
    )
    for options in (OPTIONS, IpaOptions(accuracy="measured"), IpaOptions(accuracy="product")):
        plan = planned(cluster, observed({"digits": 5.0}, workers(cpu=2)), options)
        assert list(plan.stages["digits"]) == [ONLY_STAGE]
        assert plan.held == dict.fromkeys(("cpu-0", "cpu-1"), frozenset({"l"}))
        assert plan.accuracy["digits"] == pytest.approx(0.9)


def test_the_accuracy_of_a_measured_pipeline_is_the_measured_one() -> None:
    table = {("cut", "read-s", "sum"): 0.7, ("cut", "read-l", "sum"): 0.6}
    cluster = Cluster((replace(NUMBERS, measured_accuracy=table),), (Pool("cpu"),))
    plan = planned(cluster, observed({"numbers": 5.0}, workers(cpu=3)), IpaOptions(accuracy="measured"))
    assert plan.accuracy["numbers"] == 0.7
    assert list(plan.stages["numbers"]["read"].variants) == ["read-s"]


def test_jobs_per_query_are_those_observed() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", max_workers=50, price_per_h=0.01),))
    one = planned(cluster, observed({"numbers": 50.0}, {}))
    observation = replace(observed({"numbers": 50.0}, {}), stage_shares={"numbers": {"read": 6.0}})
    six = planned(cluster, observation)
    assert six.stages["numbers"]["read"].load_qps == 300.0
    assert six.stages["numbers"]["cut"].load_qps == 50.0
    assert six.stages["numbers"]["read"].workers > one.stages["numbers"]["read"].workers


def test_later_stages_are_left_the_time_that_their_runs_take() -> None:
    plan = planned(Cluster((NUMBERS,), (Pool("cpu"),)), observed({"numbers": 50.0}, workers(cpu=6)))
    own = plan.stages["numbers"]
    assert own["sum"].after_s == 0.0
    assert own["read"].after_s == own["sum"].run_s
    assert own["cut"].after_s == pytest.approx(own["read"].run_s + own["sum"].run_s)


def test_a_load_of_nothing_keeps_one_worker_for_each_stage() -> None:
    cluster = Cluster((NUMBERS,), (Pool("cpu", max_workers=9, price_per_h=1.0),))
    plan = planned(cluster, observed({}, {}))
    assert plan.pool_sizes == {"cpu": 3}
    assert {rows for each in plan.stages["numbers"].values() for rows in each.variants.values()} == {1}


def test_several_active_variants_are_refused() -> None:
    with pytest.raises(ConfigError, match="plan with several=False"):
        IpaPlanner(Cluster((NUMBERS,), (Pool("cpu"),)), IpaOptions(several=True))


def test_an_endpoint_that_no_worker_can_run_does_not_take_the_others_with_it() -> None:
    other = endpoint("faces", linear("faces", 0.9, 0.01, 0.001), device="gpu")
    cluster = Cluster((NUMBERS, other), (Pool("cpu"), Pool("gpu")))
    plan = planned(cluster, observed({"numbers": 20.0, "faces": 5.0}, workers(cpu=5)))
    assert plan.served_qps == {"numbers": 20.0, "faces": 0.0}
    assert "faces has no worker that can run it (devices of its variants: gpu): add one." in plan.report.explanation


def test_without_time_there_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoscaler.planners.ipa.solver.Clock", lambda limit_s: Clock(0.0))
    plan = IpaPlanner(Cluster((NUMBERS,), (Pool("cpu"),)), OPTIONS).plan(observed({"numbers": 20.0}, workers(cpu=5)))
    assert isinstance(plan, NoPlan)
    assert plan.report.status is Status.NO_ANSWER
    assert plan.report.explanation[0].startswith("No answer within 10 s of solver time: have fewer variants")


def some_cluster(rng: np.random.Generator) -> tuple[Cluster, Observation]:
    """Pipelines on up to two kinds of devices, some with little memory, of more or less load; some share variants."""
    devices = [f"dev{number}" for number in range(rng.integers(1, 3))]
    endpoints, memory = [], {}
    sharing = rng.random() < 0.3
    for e in range(rng.integers(1, 3)):
        owner = "" if sharing else f"e{e}"
        stages = []
        for s, after in enumerate(GRAPHS[rng.integers(len(GRAPHS))]):
            own: dict[str, tuple] = {}  # type: ignore[type-arg]
            for device in devices:
                if rng.random() < 0.85 or (device == devices[-1] and not own):
                    fixed_s, row_s = rng.uniform(0.001, 0.03, 2)
                    own[device] = tuple(
                        linear(f"{owner}s{s}v{v}", 0.6 + 0.1 * v, fixed_s * (v + 1), row_s * (v + 1))
                        for v in range(rng.integers(1, 4))
                    )
            memory |= {f"{owner}s{s}v{v}": int(rng.integers(1, 4)) for v in range(3)}
            stages.append(Stage(f"s{s}", after, own))
        endpoints.append(pipeline(f"e{e}", *stages, slo_s=float(rng.choice((0.05, 0.3, 1.0)))))
    pools = tuple(
        Pool(
            device,
            float(rng.choice((3.0, 6.0, inf))),
            float(rng.choice((0.0, 0.5))),
            int(rng.integers(0, 12)) if rng.random() < 0.3 else None,
        )
        for device in devices
    )
    there = workers(**{device: int(rng.integers(0, 9)) for device in devices})
    names = [*memory, "gone"]
    held: Mapping[str, frozenset[str]] = {
        worker: frozenset({str(rng.choice(names))}) for worker in there if rng.random() < 0.5
    }
    demand_qps = {e.name: float(rng.choice((0.0, 1.0, 20.0, 300.0))) for e in endpoints}
    return Cluster(tuple(endpoints), pools, memory), Observation(0.0, demand_qps, workers_of(there), held)


@settings(max_examples=150, deadline=None)
@given(rng=SEEDS)
def test_plans_of_all_clusters_keep_to_workers_and_memory_and_hold_every_stage(rng: np.random.Generator) -> None:
    cluster, observation = some_cluster(rng)
    planned(cluster, observation)


@settings(max_examples=50, deadline=None)
@given(rng=SEEDS)
def test_a_plan_that_is_in_force_is_kept(rng: np.random.Generator) -> None:
    cluster, observation = some_cluster(rng)
    if any(pool.max_workers is not None for pool in cluster.pools):
        cluster = replace(cluster, pools=tuple(replace(pool, max_workers=None) for pool in cluster.pools))
    first = planned(cluster, observation)
    again = planned(cluster, replace(observation, held=first.held))
    assert again.held == first.held
