"""What is exported of the plan in force, with gauges that only remember."""

from math import inf
from typing import Any

import pytest
from controller_parts import settings

from controller_scene import Service, play, started
from deployments.controller import plan_metrics
from deployments.controller.plan_metrics import OF_ENDPOINTS, OF_PLAN, OF_POOLS, PlanMetrics

exported: dict[tuple[str, ...], float] = {}


class Gauge:
    """In place of Ray's."""

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description.endswith(".")
        self.name, self.tag_keys = name, tag_keys

    def set(self, value: float, tags: dict[str, str]) -> None:
        assert tuple(tags) == self.tag_keys
        exported[self.name, *tags.values()] = value


@pytest.fixture(autouse=True)
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_metrics.metrics, "Gauge", Gauge)
    exported.clear()


def test_a_controllers_plan_is_exported_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(service: Service) -> None:
        await started(service, digits=10.0)
        PlanMetrics(service.one.plan).export()
        plan = service.in_force.plan
        assert plan is not None
        assert {name for name, *_ in exported} == {*OF_PLAN, *OF_ENDPOINTS, *OF_POOLS}
        assert exported["accord_plan_version",] == service.in_force.version
        assert exported["accord_planned_load_qps", "digits"] == plan["demand_qps"]["digits"] > 0
        assert exported["accord_planned_accuracy_ratio", "digits"] == plan["accuracy"]["digits"]
        assert exported["accord_pool_workers", "cpu"] == exported["accord_pool_workers_wanted", "cpu"] == 2
        assert exported["accord_plan_under_way",] == exported["accord_unloadable_variants",] == 0

    play(monkeypatch, scene, settings(interval_s=1000.0))


def test_before_the_first_plan_and_without_bounds_there_is_little_to_tell() -> None:
    view: dict[str, Any] = {"version": 0, "decision": None, "under_way": {"version": 1}, "unloadable": [], "pools": {}}
    view["planner"] = "proteus"
    PlanMetrics(lambda: view).export()
    assert exported == {
        ("accord_plan_version",): 0,
        ("accord_plan_under_way",): 1.0,
        ("accord_unloadable_variants",): 0,
    }
    PlanMetrics(lambda: view | {"decision": {"solve_s": 0.5, "plan": {"capacity_qps": {"digits": inf}}}}).export()
    assert exported["accord_plan_solve_seconds",] == 0.5
    assert ("accord_planned_capacity_qps", "digits") not in exported


def test_of_a_planner_that_does_not_go_by_the_load_nothing_is_planned_for() -> None:
    plan = {"demand_qps": {"digits": 0.1}, "capacity_qps": {"digits": 0.1}, "accuracy": {"digits": 0.9}}
    decision = {"solve_s": 0.0, "plan": plan}
    told = {"version": 1, "decision": decision, "under_way": None, "unloadable": [], "pools": {}}
    PlanMetrics(lambda: told | {"planner": "everywhere"}).export()
    assert not any(name.startswith("accord_planned") for name, *_ in exported)
    PlanMetrics(lambda: told | {"planner": "proteus"}).export()
    assert exported["accord_planned_accuracy_ratio", "digits"] == 0.9
