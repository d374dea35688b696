"""A search whose time is up."""

import math

import pytest

from autoscaler.cluster.cluster import Cluster, Pool
from autoscaler.planners.proteus import search
from autoscaler.planners.proteus.column import columns_of, fastest
from autoscaler.planners.proteus.placement_model import PlacementModel
from autoscaler.planners.proteus.search import Problem, Search
from autoscaler.planners.proteus.stages import Objectives, solve
from autoscaler_scene import endpoint, linear

NAMES = ("a", "b", "c")
MANY = Cluster(
    tuple(
        endpoint(name, *(linear(f"{name}{n}", 0.5 + 0.1 * n, 0.0, 0.01 * (n + 1)) for n in range(4)), slo_s=1.0)
        for name in NAMES
    ),
    (Pool("cpu"),),
)
PROBLEM = Problem(columns_of(MANY, per_worker=2), {"cpu": 2}, dict.fromkeys(NAMES, 20.0))
LATE_S = 100.0


class UpAfter(Search):
    """Takes no time for so many models and solves, and then far more than there is."""

    def __init__(self, steps: int, gap: float = 0.0) -> None:
        super().__init__(gap, 5.0)
        self.steps = steps

    def _spend(self, seconds: float) -> None:
        self.steps -= 1
        self._left_s = 5.0 if self.steps > 0 else -LATE_S


def test_of_pairs_of_the_same_endpoints_the_fastest_is_enough_to_serve_the_most() -> None:
    pairs = [column for column in PROBLEM.columns if len(column.uses) == 2]
    assert len(pairs) == 3 * 4 * 4
    kept = [column for column in fastest(PROBLEM.columns) if len(column.uses) == 2]
    assert sorted(tuple(use.variant for use in column.uses) for column in kept) == [
        ("a0", "b0"),
        ("a0", "c0"),
        ("b0", "c0"),
    ]


def test_no_model_is_built_for_more_room_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    class Counted(PlacementModel):
        def __init__(self, *args: object, **more: object) -> None:
            built.append(1)
            super().__init__(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "PlacementModel", Counted)
    late = Search(1e-3, 0.0)
    assert not late.is_conceivable(PROBLEM, lambda model: model.total_served)
    assert late.first(PROBLEM, lambda model: model.total_served) is None
    assert built == []
    assert UpAfter(100).is_conceivable(PROBLEM, lambda model: model.total_served)
    assert built == [1]


def test_whenever_the_time_is_up_a_plan_serves_all_that_can_be_served_or_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MOST_COLUMNS", 6)
    monkeypatch.setattr(search, "MANY_COLUMNS", 20)
    gaps = []
    for steps in range(1, 30):
        staged = solve(PROBLEM, Objectives(), UpAfter(steps))
        if staged is not None:
            assert staged.solution.served_qps == pytest.approx(PROBLEM.demand_qps, rel=1e-5)
            gaps.append(staged.gap)
    assert math.inf in gaps
    assert gaps[-1] == pytest.approx(0.0, abs=1e-6)


def test_without_time_for_the_relaxation_of_many_pairs_workers_have_one_variant_or_the_fastest_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = solve(PROBLEM, Objectives(), Search(0.0, 60.0))
    monkeypatch.setattr(search, "MOST_COLUMNS", 12)
    monkeypatch.setattr(search, "MANY_COLUMNS", 20)
    monkeypatch.setattr(search, "MOST_RELAXED", 20)
    fewer = solve(PROBLEM, Objectives(), Search(0.0, 60.0))
    assert whole is not None
    assert fewer is not None
    assert (whole.gap, fewer.gap) == (pytest.approx(0.0, abs=1e-6), math.inf)
    assert fewer.solution.served_qps == pytest.approx(PROBLEM.demand_qps, rel=1e-5)
    assert fewer.solution.objective <= whole.solution.objective
