"""A plan that predicts slowdowns, and the decisions that follow from its first query on."""

from dataclasses import replace

import pytest

from dispatch.commands import Launch
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.worker_info import WorkerInfo
from dispatch_scene import endpoint, query

PLAN = Plan(1, {"digits": endpoint()})


def dispatcher(plan: Plan = PLAN) -> Dispatcher:
    made = Dispatcher(plan, LatencyEstimator(0.002))
    made.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    return made


def chosen(of: Dispatcher, number: int, now_s: float, slo_s: float = 0.06) -> str:
    """The variant that a query gets, which is answered at once."""
    (launch,) = [each for each in of.on_arrival(query(number, now_s, slo_s), now_s) if isinstance(each, Launch)]
    of.on_done("w1", launch.batch.id, [{}], 0.001, now_s)
    return launch.batch.variant


def test_greedy_takes_the_variant_that_is_in_time_beside_its_neighbours() -> None:
    assert chosen(dispatcher(), 1, 0.0) == "slow"
    assert chosen(dispatcher(replace(PLAN, slowdowns={"w1": {"fast": 1.6, "slow": 1.6}})), 1, 0.0) == "fast"
    other = replace(PLAN, slowdowns={"w2": {"fast": 1.6, "slow": 1.6}})
    assert chosen(dispatcher(other), 1, 0.0) == "slow", "that is another worker's"


def test_a_plan_that_changes_neighbours_changes_what_batches_are_reckoned_to_take_at_once() -> None:
    played = dispatcher()
    played.apply(replace(PLAN, version=2, slowdowns={"w1": {"slow": 1.6, "fast": 1.0}}), 0.0)
    (lane,) = played.workers["w1"].lanes.values()
    slow = next(each for each in lane.candidates if each.variant == "slow")
    assert slow.mean_s[1] == pytest.approx(1.6 * 0.040 + 0.002)
    assert chosen(played, 1, 0.0) == "fast"
    played.apply(replace(PLAN, version=3), 0.1)
    assert chosen(played, 2, 0.2) == "slow", "its neighbours are gone"


def test_what_was_measured_is_scaled_and_not_measured_again() -> None:
    played = dispatcher(replace(PLAN, slowdowns={"w1": {"fast": 1.5, "slow": 1.5}}))
    for number in range(300):
        now_s = 0.1 * number
        (launch,) = [each for each in played.on_arrival(query(number + 1, now_s), now_s) if isinstance(each, Launch)]
        run_s = 1.8 * (0.001 if launch.batch.variant == "fast" else 0.040)
        played.on_done("w1", launch.batch.id, [{}], run_s, now_s + run_s + 0.002)
    assert played.learning is not None
    before = played.learning.latency.estimate("w1").run_factor
    assert before == pytest.approx(1.8, rel=0.05)
    played.apply(replace(PLAN, version=2, slowdowns={"w1": {"fast": 2.0, "slow": 2.0}}), 40.0)
    (lane,) = played.workers["w1"].lanes.values()
    assert lane.latency is not None
    assert lane.latency.run_factor == pytest.approx(before * 2.0 / 1.5)


def test_a_worker_that_comes_later_has_the_prediction_of_the_plan_in_force() -> None:
    played = dispatcher(replace(PLAN, slowdowns={"late": {"slow": 1.6, "fast": 1.6}}))
    played.on_worker_ready("late", WorkerInfo("cpu"), ["fast", "slow"], 1.0)
    (lane,) = played.workers["late"].lanes.values()
    assert lane.latency is not None
    assert lane.latency.run_factor == 1.6


def test_without_measurements_the_plans_figures_stay_exact() -> None:
    played = Dispatcher(replace(PLAN, slowdowns={"w1": {"slow": 1.6}}))
    played.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    assert chosen(played, 1, 0.0) == "slow"
