"""Planners by name, and what each decides."""

from dataclasses import replace

import pytest

from autoscaler.planners.baselines.everywhere import Everywhere
from autoscaler.planners.ipa.problem import IpaOptions
from autoscaler.planners.proteus.options import ProteusOptions
from autoscaler.planners.proteus.proteus_planner import ProteusPlanner
from autoscaler.planners.registry import DEFAULT, PLANNERS, PlannerOptions, planner_kind, register
from autoscaler_scene import cluster, endpoint, linear
from catalog.errors import ConfigError

ONE = cluster(endpoint("a", linear("a1", 0.9, 0.01, 0.01)))


def test_every_planner_is_made_under_its_own_name() -> None:
    for name, kind in PLANNERS.items():
        made = kind.make(ONE, PlannerOptions(3.0, IpaOptions(), ProteusOptions()))
        assert (made.name, kind.name) == (name, name)


def test_the_default_leaves_everything_as_it_was_built() -> None:
    assert planner_kind("everywhere") is DEFAULT
    assert isinstance(DEFAULT.make(ONE, 1.0), Everywhere)
    assert not any((DEFAULT.assigns, DEFAULT.by_load, DEFAULT.sizes, DEFAULT.solves))
    assert DEFAULT.needs is None


@pytest.mark.parametrize(("workers_per_task", "per_worker"), [(1.5, 2), (2.0, 1), (8.0, 1)])
def test_with_few_workers_per_task_two_variants_share_one(workers_per_task: float, per_worker: int) -> None:
    made = planner_kind("proteus").make(ONE, PlannerOptions(workers_per_task, IpaOptions(), ProteusOptions()))
    assert isinstance(made, ProteusPlanner)
    assert made.options.per_worker == per_worker


def test_an_unknown_planner_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="planner 'best' is unknown; use one of everywhere, proteus"):
        planner_kind("best")


def test_another_planner_can_be_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(DEFAULT, name="mine")
    monkeypatch.setitem(PLANNERS, "mine", mine)
    monkeypatch.delitem(PLANNERS, "mine")
    register(mine)
    assert planner_kind("mine") is mine
    with pytest.raises(ValueError, match="there is a planner 'mine' already"):
        register(mine)
