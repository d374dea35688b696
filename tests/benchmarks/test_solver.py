"""The benchmark of the planner on a small table and small clusters: its figures, and what it does without an answer."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

import orjson
import pytest
import yaml

from accuracy_scene import write_profiles
from autoscaler.cluster.observation import Observation
from autoscaler.cluster.plan import ClusterPlan, NoPlan, Status
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from benchmarks.proteus import synthetic, testbed
from benchmarks.solver import __main__ as solver

Run = Callable[..., str]
"""Runs the benchmark with arguments and gives what it prints."""

CASES = ["paper_cluster", "devices_160_variants_450", "devices_10000_variants_1000"]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int, int]]:
    """The clusters that the benchmark has made up; it gets small ones."""
    asked: list[tuple[int, int, int, int]] = []

    def small(devices: int, variants: int, endpoints: int, device_types: int, seed: int) -> testbed.Testbed:
        asked.append((devices, variants, endpoints, device_types))
        return synthetic.synthetic(8, 9, 3, 2, seed)

    monkeypatch.setattr(solver, "synthetic", small)
    return asked


@pytest.fixture
def run(
    tmp_path: Path,
    sizes: list[tuple[int, int, int, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    variants = {
        f"{name}-{size}": (
            accuracy_pct,
            {"cpu": (2.0, 8.0 * slower), "gpu_pascal": (4.0, slower), "gpu_ampere": (4, 1)},
        )
        for name in solver.TYPES
        for size, accuracy_pct, slower in (("small", 80.0, 1.0), ("large", 100.0, 4.0))
    }
    write_profiles(tmp_path / "profiles.csv", variants)
    monkeypatch.setattr(solver, "PAPER_CLUSTER", {"cpu": 6, "gpu_pascal": 4, "gpu_ampere": 3})

    def with_arguments(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["solver", "--profiles", str(tmp_path / "profiles.csv"), *arguments])
        solver.main()
        return capsys.readouterr().out

    return with_arguments


def test_the_last_line_has_times_and_proven_gaps_of_three_cases(run: Run, sizes: list[tuple[int, ...]]) -> None:
    body = orjson.loads(run("--json", "--points", "10").splitlines()[-1])
    assert body["solver"] == "scip"
    assert list(body["cases"]) == CASES
    assert sizes == [(160, 450, 9, 3), (10_000, 1_000, 50, 10)]
    for case, demands, gap in zip(body["cases"].values(), (10, 2, 2), (1e-3, 1e-3, 5e-3), strict=True):
        assert 0.0 < case["median_s"] <= case["max_s"]
        assert 0.0 <= case["median_gap"] <= case["max_gap"] <= gap + 1e-5
        assert case["demands"] == demands
        assert case["statuses"] == {"optimal": demands}
        assert case["saturation_qps"] > 0.0
        assert 0.0 < case["with_headroom_median_s"] <= case["with_headroom_max_s"]
    assert [case["paper_s"] for case in body["cases"].values()] == [4.2, 60.0, None]


def test_demands_go_from_little_to_all_that_can_be_served(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Observation] = []
    plans: list[ClusterPlan] = []

    class Recording(ProteusPlanner):
        def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
            plan = super().plan(observation)
            assert isinstance(plan, ClusterPlan)
            seen.append(observation)
            plans.append(plan)
            return plan

    monkeypatch.setattr(solver, "ProteusPlanner", Recording)
    most_qps = orjson.loads(run("--json", "--points", "5"))["cases"]["paper_cluster"]["saturation_qps"]
    for first in (0, 5):  # the program by itself, and with room
        parts = [sum(each.demand_qps.values()) / most_qps for each in seen[first : first + 5]]
        assert parts == pytest.approx([0.02, 0.265, 0.51, 0.755, 1.0])
        holds: list[Mapping[str, frozenset[str]]] = [{}, *(plan.held for plan in plans[first : first + 4])]
        assert [each.held for each in seen[first : first + 5]] == holds
        assert [plan.shed for plan in plans[first : first + 4]] == pytest.approx([0.0] * 4, abs=1e-4)
        assert plans[first + 4].shed <= 2e-3  # what can be served is known within 0.1%
        assert (plans[first + 4].effective_accuracy or 1.0) < (plans[first].effective_accuracy or 0.0)
    assert list(seen[0].demand_qps) == sorted(solver.TYPES)
    assert seen[0].demand_qps["bert"] / seen[0].demand_qps["yolo"] == pytest.approx(9**1.001)


def test_without_json_the_same_is_there_to_read(run: Run) -> None:
    body = yaml.safe_load(run("--points", "1"))
    assert list(body["cases"]) == CASES
    assert {case["demands"] for case in body["cases"].values()} == {1}


def test_another_solver_can_be_named(run: Run) -> None:
    body = orjson.loads(run("--json", "--points", "2", "--solver", "highs"))
    assert body["solver"] == "highs"
    assert [case["statuses"] for case in body["cases"].values()] == [{"optimal": 2}, {"optimal": 1}, {"optimal": 1}]


def test_no_answer_and_no_proof_are_said_and_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    enough_qps = inf

    class Unlucky(ProteusPlanner):
        """Has no answer to little demand, and a proof for nothing."""

        def plan(self, observation: Observation) -> ClusterPlan | NoPlan:
            plan = super().plan(observation)
            report = replace(plan.report, gap=None)
            if sum(observation.demand_qps.values()) < enough_qps:
                return NoPlan(replace(report, status=Status.NO_ANSWER))
            return replace(plan, report=replace(report, status=Status.FEASIBLE))

    monkeypatch.setattr(solver, "ProteusPlanner", Unlucky)
    case = orjson.loads(run("--json", "--points", "3"))["cases"]["paper_cluster"]
    assert case["statuses"] == {"no answer": 3}
    assert (case["max_gap"], case["median_gap"]) == (None, None)
    assert case["max_s"] > 0.0
    enough_qps = case["saturation_qps"] / 2
    case = orjson.loads(run("--json", "--points", "3"))["cases"]["paper_cluster"]
    assert case["statuses"] == {"feasible at limit": 2, "no answer": 1}
    assert (case["max_gap"], case["median_gap"]) == (None, None)


def test_what_cannot_be_used_is_refused_in_words(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"cannot read profile table .*none\.csv: No such file"):
        run("--profiles", str(tmp_path / "none.csv"))
    with pytest.raises(SystemExit, match="slo_s is -"):
        run("--slo-multiple", "-1")
    write_profiles(tmp_path / "few.csv", {"bert": (100.0, {"cpu": (0, 1), "gpu_pascal": (0, 1), "gpu_ampere": (0, 1)})})
    with pytest.raises(SystemExit, match="no variant for query types densenet, efficientnet"):
        run("--profiles", str(tmp_path / "few.csv"))
    for points in ("0", "-3", "many"):
        with pytest.raises(SystemExit):
            run("--points", points)
        assert f"{points!r} is no whole number from 1" in capsys.readouterr().err
