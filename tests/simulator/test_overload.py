"""Overload in virtual time: goodput stays flat however much is offered, and all is well once the load falls."""

from functools import cache

import numpy as np
import pytest

from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import create_balancer
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.query import Batch
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, QueueView, SelectionPolicy
from simulator.host import Host
from simulator.record import Record
from workload.rate import RateSchedule, RateStep
from workload.renewal import Poisson

WAY_S = 0.002
RULES = AdmissionRules()
WORKERS = 2


class Unhurried:
    """Runs the most accurate variant whatever waits."""

    name = "unhurried"

    def choose(self, view: QueueView) -> Choice:
        best = view.candidates[0]
        return Choice(best.variant, best.batch_rows(view.rows))


def candidate(name: str, accuracy: float, fixed_s: float, row_s: float) -> Candidate:
    mean_s = [0.0, *(fixed_s + row_s * rows + WAY_S for rows in range(1, 33))]
    return Candidate(name, accuracy, tuple(1.2 * each for each in mean_s), tuple(mean_s), WAY_S)


VARIANTS = (
    candidate("slow", 0.95, 0.010, 0.004),
    candidate("mid", 0.9, 0.006, 0.0015),
    candidate("fast", 0.8, 0.004, 0.0004),
)
CARRIED_QPS = 3000.0
"""Near the most that two workers bear in time with the fastest variant, whose bound is 3,400."""


class Noisy:
    """Runs vary around their mean by a fifth, and take ``factor`` times as long between two instants."""

    def __init__(self, slow: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> None:
        self._rng = np.random.default_rng(3)
        self._mean_s = {each.variant: each.busy_s for each in VARIANTS}
        self._slow = slow

    def times_s(self, device: str, batch: Batch) -> tuple[float, float]:
        from_s, to_s, factor = self._slow
        run_s = self._mean_s[batch.variant][batch.rows] - WAY_S
        slowed = factor if from_s <= batch.launched_s < to_s else 1.0
        return run_s * slowed * float(self._rng.lognormal(-0.02, 0.2)), WAY_S


def play(
    schedule: RateSchedule,
    seconds: float,
    selection: SelectionPolicy | None = None,
    balancing: str = "round_robin",
    latency: Noisy | None = None,
    admission: AdmissionRules | None = RULES,
) -> Record:
    stage = StagePlan({"cpu": VARIANTS}, selection or GreedySelection(), create_balancer(balancing))
    plan = EndpointPlan.of_stage("e", stage, slo_s=0.1, max_queued_rows=2000, admission=admission)
    workers = {f"w{number}": "cpu" for number in range(WORKERS)}
    host = Host(Plan(1, {"e": plan}), workers, latency or Noisy(), estimator=LatencyEstimator(WAY_S))
    return host.run({"e": Poisson(schedule, seed=1).times_s(seconds)})


def in_time(record: Record, from_s: float = 1.0, to_s: float = np.inf) -> tuple[float, float, float]:
    """Of the queries that came in between: per second that were in time, their share of the answered, and of all."""
    asked = (record.arrival_s >= from_s) & (record.arrival_s < to_s)
    timely, answered = record.done_s[asked] <= record.deadline_s[asked], np.isfinite(record.done_s[asked])
    lasted_s = min(to_s, record.arrival_s[-1]) - from_s
    return timely.sum() / lasted_s, timely.sum() / max(answered.sum(), 1), timely.mean()


@cache
def at_best(balancing: str) -> float:
    return in_time(play(RateSchedule.constant(CARRIED_QPS), 3.0, balancing=balancing))[0]


@pytest.mark.parametrize("balancing", ["round_robin", "shortest_queue", "central"])
@pytest.mark.parametrize("times", [1.5, 3.0, 10.0])
def test_goodput_stays_flat_and_what_is_let_in_is_in_time(balancing: str, times: float) -> None:
    goodput_qps, of_answered, _ = in_time(play(RateSchedule.constant(times * CARRIED_QPS), 3.0, balancing=balancing))
    assert goodput_qps >= 0.95 * at_best(balancing)
    assert of_answered >= 0.95


def test_without_admission_it_collapses() -> None:
    goodput_qps, _, _ = in_time(play(RateSchedule.constant(3 * CARRIED_QPS), 5.0, admission=None))
    assert goodput_qps < 0.1 * CARRIED_QPS


def test_at_light_load_nobody_is_refused_and_decisions_are_those_without_admission() -> None:
    schedule = RateSchedule.constant(400.0)
    with_it, without = (play(schedule, 20.0, admission=rules) for rules in (AdmissionRules(), None))
    assert np.array_equal(with_it.done_s, without.done_s)
    assert np.array_equal(with_it.batches.accuracy, without.batches.accuracy)


def test_variants_get_faster_before_anyone_is_refused() -> None:
    record = play(RateSchedule.constant(0.8 * CARRIED_QPS), 5.0, Unhurried())
    assert in_time(record)[2] > 0.9, "the most accurate variant alone would carry a seventh of it"


def test_a_policy_that_keeps_to_a_variant_sheds_what_that_cannot_carry() -> None:
    record = play(RateSchedule.constant(4000.0), 5.0, FixedSelection("mid"))
    best_qps = in_time(play(RateSchedule.constant(1000.0), 5.0, FixedSelection("mid")))[0]
    goodput_qps, of_answered, _ = in_time(record)
    assert goodput_qps >= 0.9 * best_qps
    assert of_answered >= 0.95


def test_all_is_well_within_a_second_after_the_load_has_fallen() -> None:
    steps = (RateStep(500.0, 5.0), RateStep(30_000.0, 2.0), RateStep(500.0, 8.0))
    record = play(RateSchedule(steps), 15.0)
    before, after = in_time(record, 1.0, 5.0)[2], in_time(record, 8.0, 15.0)[2]
    assert after >= before - 0.005
    late = record.arrival_s >= 9.0
    early = (record.arrival_s >= 1.0) & (record.arrival_s < 5.0)
    accuracy = record.batches.accuracy[record.batch]
    assert accuracy[late].mean() == pytest.approx(accuracy[early].mean(), abs=0.01)


def test_workers_that_slow_down_and_recover_are_followed() -> None:
    record = play(RateSchedule.constant(1500.0), 15.0, latency=Noisy(slow=(5.0, 8.0, 5.0)))
    assert in_time(record, 9.0)[2] > 0.99


def test_where_no_variant_is_ever_in_time_estimates_are_still_corrected() -> None:
    record = play(RateSchedule.constant(50.0), 15.0, latency=Noisy(slow=(2.0, 8.0, 40.0)))
    assert in_time(record, 11.0)[2] > 0.99


def test_the_same_seed_gives_the_same_trace() -> None:
    one, other = (play(RateSchedule.constant(9000.0), 2.0) for _ in range(2))
    assert np.array_equal(one.done_s, other.done_s)
