"""The control loop as a controller begins it."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from controller_parts import endpoint, settings

from autoscaler.cluster.observation import Statistics
from autoscaler.cluster.plan import ClusterPlan, SolveReport, Status
from autoscaler.cluster.plan_record import to_record
from autoscaler.demand.demand import MovingMaximum
from autoscaler.planners.cocktail.cocktail_planner import CocktailPlanner
from deployments.controller.loop_start import new_loop
from deployments.controller.variants.variant_book import VariantBook, cluster_of
from deployments.messages.control_settings import ControlSettings
from deployments.state.decisions import Decisions
from deployments.state.saved_state import ControllerState
from dispatch.worker_info import WorkerInfo

PLAN = ClusterPlan(
    held={"w1": frozenset({"fast"})},
    shares={"digits": {"w1": 1.0}},
    demand_qps={"digits": 10.0},
    served_qps={"digits": 10.0},
    capacity_qps={"digits": 30.0},
    accuracy={"digits": 0.9},
    pool_sizes={"cpu": 1},
    report=SolveReport(Status.OPTIMAL, 0.0, 0.1),
)


def plan_of(record: dict[str, Any]) -> ClusterPlan:
    """The plan that a loop begins with where this record was in force."""
    decisions = Decisions()
    decision = decisions.begin("the load", 1.0)
    decision.plan = record
    decisions.put_in_force(decision, 1.0, 2.0)
    known = cast(ControllerState, SimpleNamespace(decisions=decisions))
    return new_loop(settings(), known, MovingMaximum()).plan


def test_the_plan_in_force_is_gone_on_with() -> None:
    assert plan_of(to_record(PLAN)) == PLAN


def test_one_from_before_capacity_had_its_name_is_read() -> None:
    record = to_record(PLAN)
    record["room_qps"] = record.pop("capacity_qps")
    assert plan_of(record) == PLAN


@pytest.mark.parametrize("record", [{}, {"held": 3}])
def test_one_that_cannot_be_read_is_said_and_planned_anew(
    record: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert plan_of(record).held == {}
    assert "Plan 1, in force before, cannot be read" in caplog.text


ENSEMBLE = settings({"digits": endpoint(variants=("slow", "fast"))}, planner="cocktail")
WORKERS = {worker: WorkerInfo("cpu", "cpu") for worker in ("w1", "w2")}


def planned(
    config: ControlSettings, seconds: int, held: dict[str, frozenset[str]], fast: int = 20, slow: int = 0
) -> list[dict[str, frozenset[str]]]:
    """What workers hold after each plan, one every 10 s, while 20 queries a second run so many rows of each member."""
    book = VariantBook(config)
    candidates = {n: book.candidates(each, lambda _: 1.0, lambda _: 1.0, ()) for n, each in config.endpoints.items()}
    planner = CocktailPlanner(cluster_of(config, candidates, book, sizing=False))
    loop = new_loop(config, cast(ControllerState, SimpleNamespace(decisions=Decisions())), MovingMaximum())
    plans = []
    for second in range(seconds):
        rows = {"digits": {"fast": fast, **({"slow": slow} if slow else {})}}
        loop.on_statistics(Statistics(second, second + 1.0, {"digits": 20}, {}, rows))
        if second % 10 == 9:
            held = dict(planner.plan(loop.observation(second + 1.0, WORKERS, held)).held)
            plans.append(held)
    return plans


def test_a_member_of_an_ensemble_that_is_not_asked_for_long_keeps_a_worker() -> None:
    plans = planned(ENSEMBLE, 1200, {"w1": frozenset({"slow"}), "w2": frozenset({"fast"})})
    assert all(plan == {"w1": {"slow"}, "w2": {"fast"}} for plan in plans)


def test_a_member_that_lost_its_workers_gets_one_back_though_it_is_never_asked_meanwhile() -> None:
    plans = planned(ENSEMBLE, 1200, dict.fromkeys(WORKERS, frozenset({"fast"})))
    assert all(frozenset().union(*plan.values()) == {"slow", "fast"} for plan in plans)


def test_members_are_planned_for_by_what_they_are_asked_all_the_same() -> None:
    loop = new_loop(ENSEMBLE, cast(ControllerState, SimpleNamespace(decisions=Decisions())), MovingMaximum())
    assert loop.observation(0.0, WORKERS, {}).stage_shares == {"digits": {"slow": 1.0, "fast": 1.0}}, "none counted yet"
    for second in range(400):
        loop.on_statistics(Statistics(second, second + 1.0, {"digits": 100}, {}, {"digits": {"fast": 100, "slow": 10}}))
    shares = loop.observation(400.0, WORKERS, {}).stage_shares["digits"]
    assert shares == pytest.approx({"slow": 0.1, "fast": 1.0}, abs=0.005)


def test_where_no_ensembles_are_planned_for_only_what_was_counted_is_reckoned_with() -> None:
    loop = new_loop(settings(), cast(ControllerState, SimpleNamespace(decisions=Decisions())), MovingMaximum())
    assert loop.observation(0.0, WORKERS, {}).stage_shares == {}
