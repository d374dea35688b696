"""Excerpts, baselines, goals and the simulated side of the live comparison of planners."""

import csv
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan
from autoscaler.cluster.plan_record import to_record
from autoscaler.planners.registry import PLANNERS, planner_kind
from benchmarks.live_proteus import loads, planners
from benchmarks.live_proteus.__main__ import main
from benchmarks.live_proteus.figures import OURS, median_of, simulated_outcome
from benchmarks.live_proteus.first_plan import FirstPlan
from benchmarks.live_proteus.live import Played, in_force_s
from benchmarks.live_proteus.loads import Load, busiest_s, excerpt, made_up, most_frequent
from benchmarks.live_proteus.planners import LOADS, KnownLoads, Placed, kinds
from benchmarks.live_proteus.scene import SYSTEMS, Scene
from benchmarks.live_proteus.simulated import DRAWS, cluster_for, simulate
from benchmarks.live_ramsis.figures import spread_of
from benchmarks.live_ramsis.ways import Ways
from catalog.errors import ConfigError
from dispatch.worker_info import WorkerInfo

pytest.importorskip("ortools", reason="planners need the extra `planning`")

ACCELERATORS = {"onnxruntime_cpu": 4.0, "onnxruntime_gpu_pascal": 2.0, "onnxruntime_gpu_ampere": 1.0}
VARIANTS = {
    "alpha-small": (80.0, 2.0),
    "alpha-large": (100.0, 8.0),
    "beta-small": (70.0, 3.0),
    "beta-large": (100.0, 9.0),
}
WORKERS = {"cpu": 2, "gpu_pascal": 1, "gpu_ampere": 1}


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    before = dict(PLANNERS)
    yield
    PLANNERS.clear()
    PLANNERS.update(before)
    planners._HOMES.clear()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Model", "Accel", "Trials", "batchsize", "avg_latency(ms)", "Accuracy", "Normalized_Accuracy"])
        for name, (accuracy_pct, ms) in VARIANTS.items():
            for accelerator, factor in ACCELERATORS.items():
                for rows in (1, 2, 4, 8):
                    writer.writerow(
                        [name, accelerator, 9, rows, ms * factor * (1 + rows) / 2, accuracy_pct, accuracy_pct]
                    )
    made = Scene(path, WORKERS, ("alpha", "beta"), slo_multiple=4.0, slower=2.0, seed=1)
    made.write(tmp_path)
    return made


def load(scene: Scene, qps: float, seconds: float = 20.0) -> Load:
    rng = np.random.default_rng(0)
    arrivals_s = {name: np.sort(rng.uniform(0.0, seconds, int(qps * seconds))) for name in scene.types}
    return Load("even", arrivals_s, seconds, 4.0)


def test_all_is_slower_by_the_same_factor(scene: Scene) -> None:
    assert scene.slo_s == pytest.approx({name: 2 * each for name, each in replace(scene, slower=1.0).slo_s.items()})
    assert scene.total_workers == 4
    assert {endpoint for endpoint, _ in scene.variants.values()} == {"alpha", "beta"}


def test_an_excerpt_has_the_busiest_seconds_thinned_to_the_peak() -> None:
    trace = made_up("bursty", seed=1)
    found = excerpt("bursty", trace, seconds=30.0, warm_s=5.0, peak_qps=200.0, seed=1)
    assert found.duration_s == 35.0
    everything = np.sort(np.concatenate(list(found.arrivals_s.values())))
    assert everything[0] >= 0.0
    assert everything[-1] < 35.0
    known = found.known(workers=4)
    assert sum(known.peak_qps.values()) == pytest.approx(200.0, rel=0.1)
    assert sum(known.mean_qps.values()) == pytest.approx(len(everything) / 35.0)
    assert KnownLoads(**vars(known)).as_environment().keys() == {LOADS}
    with pytest.raises(ConfigError, match="are wanted"):
        excerpt("bursty", trace, 30.0, 5.0, peak_qps=1e6, seed=1)
    with pytest.raises(ConfigError, match="lasts"):
        excerpt("bursty", trace, 300.0, 5.0, peak_qps=10.0, seed=1)


def test_the_busiest_window_begins_at_an_arrival() -> None:
    assert busiest_s(np.array([0.0, 1.0, 5.0, 5.1, 5.2, 9.0]), 1.0) == 5.0
    assert most_frequent({"a": np.zeros(3), "b": np.zeros(5)}, 1) == ("b",)
    with pytest.raises(ConfigError, match="query types"):
        most_frequent({"a": np.zeros(3)}, 2)


def test_as_much_of_each_trace_is_played_as_the_shortest_has() -> None:
    short, long = ({"a": np.array([0.0, each]), "b": np.array([1.0])} for each in (43.7, 290.0))
    assert loads.longest_s([long], 8.0) == loads.COUNTED_S
    assert loads.longest_s([long, short], 8.0) == 35.0
    with pytest.raises(ConfigError, match="give a shorter --warm-s"):
        loads.longest_s([short], 43.0)


def test_traces_are_played_with_the_same_types() -> None:
    one, other = {"a": np.zeros(3), "b": np.zeros(2)}, {"a": np.ones(1), "b": np.ones(1), "c": np.ones(9)}
    found = loads.of_types({"twitter": one, "bursty": other}, ("a", "b"))
    assert {name: list(of) for name, of in found.items()} == {"twitter": ["a", "b"], "bursty": ["a", "b"]}
    with pytest.raises(
        ConfigError, match=r"trace twitter has no query type c, and the most frequent of .* a, c; it has a, b"
    ):
        loads.of_types({"bursty": other, "twitter": one}, ("a", "c"))


def test_a_second_trace_of_other_types_is_refused_before_anything_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["live_proteus", "--endpoints", "1"]
    for name, query_type in (("twitter", "alpha"), ("bursty", "gamma")):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"arrival_ms,query_type\n0,{query_type}\n5,{query_type}\n")
        arguments += [f"--{name}", str(path)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match=r"trace bursty has no query type alpha.* it has gamma; give traces"):
        main()


def test_made_up_traces_are_the_same_again_and_have_bursts() -> None:
    one, again = made_up("bursty", 1), made_up("bursty", 1)
    assert all(np.array_equal(one[name], again[name]) for name in one)
    counts = np.bincount(np.concatenate(list(one.values())).astype(int), minlength=loads.MADE_UP_S)
    assert counts[np.arange(len(counts)) % 20 < 5].mean() == pytest.approx(800.0, rel=0.1)
    assert counts[np.arange(len(counts)) % 20 >= 5].mean() == pytest.approx(400.0, rel=0.1)


def test_baselines_are_planners_of_the_same_controller(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOADS, load(scene, 10.0).known(4).as_environment()[LOADS])
    cluster, options = cluster_for(scene, "accord", tmp_path, 0.005)
    infos = {f"{pool}-{n}": WorkerInfo(pool, pool) for pool, count in WORKERS.items() for n in range(count)}
    nothing = Observation(0.0, dict.fromkeys(scene.types, 0.0), infos, {})
    accuracy = {}
    for name, kind in kinds().items():
        plan = kind.make(cluster, options).plan(nothing)
        assert isinstance(plan, ClusterPlan), name
        assert plan.held.keys() <= infos.keys()
        accuracy[name] = min(plan.accuracy.values())
    assert accuracy["clipper_ha"] == 1.0
    assert accuracy["clipper_ht"] < 0.9
    assert {name for name in SYSTEMS if not name.startswith(OURS)} == kinds().keys()


def test_a_baseline_keeps_its_first_placement_and_scales_accuracy_in_it(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load(scene, 10.0).known(4)
    cluster, _ = cluster_for(scene, "accord", tmp_path, 0.005)
    infos = {f"{pool}-{n}": WorkerInfo(pool, pool) for pool, count in WORKERS.items() for n in range(count)}
    planner = Placed(cluster, known, "sommelier")
    first = planner.plan(Observation(0.0, dict.fromkeys(scene.types, 0.0), infos, {}))
    assert isinstance(first, ClusterPlan)
    busy = planner.plan(Observation(9.0, dict.fromkeys(scene.types, 400.0), infos, dict(first.held)))
    assert isinstance(busy, ClusterPlan)
    assert {name: set(of) for name, of in busy.shares.items()} == {name: set(of) for name, of in first.shares.items()}
    assert sum(busy.accuracy.values()) < sum(first.accuracy.values())


def first_plan(scene: Scene, system: str, of: Load, folder: Path) -> FirstPlan:
    """What a system would plan for workers that live have other names."""
    os.environ.update(of.known(scene.total_workers).as_environment())
    planners.register_baselines()
    cluster, options = cluster_for(scene, system, folder, 0.005)
    pools = {f"replica-{pool}-{n}": pool for pool, count in WORKERS.items() for n in range(count)}
    infos = {worker: WorkerInfo(pool, pool) for worker, pool in pools.items()}
    nothing = Observation(0.0, dict.fromkeys(scene.types, 0.0), infos, {})
    plan = planner_kind(SYSTEMS[system].planner).make(cluster, options).plan(nothing)
    assert isinstance(plan, ClusterPlan)
    decisions = [
        {"plan": to_record(replace(plan, pool_sizes={"cpu": 1})), "workers": {}},
        {"plan": to_record(plan), "workers": {worker: {"pool": pool} for worker, pool in pools.items()}},
    ]
    return FirstPlan.of(decisions, scene.total_workers)


def test_a_simulation_begins_with_the_first_plan_that_there_was_live_for_all_workers(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOADS, "")
    light = load(scene, 4.0)
    first = first_plan(scene, "sommelier", light, tmp_path)
    workers = {"c1": "cpu", "c0": "cpu", "p": "gpu_pascal", "a": "gpu_ampere"}
    plan = first.on(workers)
    assert plan.held["a"] == first.plan.held["replica-gpu_ampere-0"]
    assert sorted(map(sorted, plan.held.values())) == sorted(map(sorted, first.plan.held.values()))
    assert {name: sum(own.values()) for name, own in plan.shares.items()} == pytest.approx(
        {name: sum(own.values()) for name, own in first.plan.shares.items()}
    )
    with pytest.raises(ValueError, match="shorter"):
        first.on({"c0": "cpu"})
    with pytest.raises(RuntimeError, match="no plan was made for 5 workers"):
        FirstPlan.of([{"plan": to_record(first.plan), "workers": {}}], 5)
    cluster, _ = cluster_for(scene, "sommelier", tmp_path, 0.030)
    planners._HOMES.clear()
    planners.begin_with(cluster, plan)
    infos = {worker: WorkerInfo(pool, pool) for worker, pool in workers.items()}
    told = Placed(cluster, light.known(4), "sommelier")
    later = told.plan(Observation(9.0, dict.fromkeys(scene.types, 9.0), infos, dict(plan.held)))
    assert isinstance(later, ClusterPlan)
    assert {name: set(own) for name, own in later.shares.items()} == {
        name: set(own) for name, own in plan.shares.items()
    }


@pytest.mark.parametrize(
    ("system", "least", "most"), [("accord", 0.95, 1.0), ("sommelier", 0.9, 1.0), ("clipper_ht", 0.7, 0.8)]
)
def test_a_light_load_is_simulated_in_time(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, least: float, most: float
) -> None:
    monkeypatch.setenv(LOADS, "")
    light = load(scene, 4.0)
    ways = Ways(np.zeros(1), np.array([0.002]))
    played = Played(light.arrivals_s, {}, first_plan(scene, system, light, tmp_path), ways, 0.002, 0.004, 0.2, 0.3, 5)
    draws = simulate(scene, system, light, played, tmp_path)
    assert len({each.begin_s for each in draws}) == DRAWS
    outcomes = [simulated_outcome(each, light.warm_s) for each in draws]
    assert all(each.violation_pct < 5.0 for each in outcomes)
    found = median_of(outcomes)
    assert found.accuracy_pct is not None
    assert 100.0 * least <= found.accuracy_pct <= 100.0 * most
    low, high = spread_of(outcomes)["accuracy_pct"]
    assert low <= found.accuracy_pct <= high


def test_plans_take_longer_where_workers_load() -> None:
    made = [
        {"loading": {}, "in_force_s": 0.2},
        {"loading": {"w": ["a"]}, "in_force_s": 0.9},
        {"loading": {}, "in_force_s": 0.4},
    ]
    assert in_force_s(made) == (pytest.approx(0.3), 0.9)
    assert in_force_s([]) == (0.3, 0.5)
