"""A dispatcher that learns what batches take: what policies see of it, worker by worker."""

import pytest

from dispatch.commands import Command
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import EndpointPlan, Plan
from dispatch.promise.feedback import SlackFeedback
from dispatch.query import Batch
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Choice, Promise, QueueView, within
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, SLOW, endpoint, launched, query

PATH_S = 0.01


class Seen:
    """Greedy; keeps the views."""

    name = "seen"

    def __init__(self, promise: Promise | None = None) -> None:
        self.views: list[QueueView] = []
        self.deadlines_s: list[float] = []  # of the last view
        self._promise = promise

    def choose(self, view: QueueView) -> Choice:
        self.views.append(view)
        self.deadlines_s = list(view.deadlines_s())
        return GreedySelection().choose(view)._replace(promise=self._promise)


def learning(plan: EndpointPlan, *workers: str) -> Dispatcher:
    made = Dispatcher(Plan(1, {plan.name: plan}), LatencyEstimator(PATH_S))
    for worker in workers:
        made.on_worker_ready(worker, WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    return made


def done(d: Dispatcher, batch: Batch, run_s: float, now_s: float) -> list[Command]:
    return d.on_done(batch.worker, batch.id, [{"y": 0}] * len(batch.jobs), run_s, now_s)


def serve(d: Dispatcher, count: int, run_s: float, total_s: float, first_id: int = 1, slo_s: float = 0.1) -> Batch:
    """Queries one by one, a second apart; gives the last batch."""
    for number in range(first_id, first_id + count):
        (batch,) = launched(d.on_arrival(query(number, float(number), slo_s), float(number)))
        done(d, batch, run_s, number + total_s)
    return batch


def test_before_the_first_batch_the_way_given_is_reckoned_with() -> None:
    policy = Seen()
    d = learning(endpoint(selection=policy), "w1")
    d.on_arrival(query(1), 0.0)
    (view,) = policy.views
    assert view.latency.path_s == PATH_S
    assert [c.mean_s[1] for c in view.candidates] == pytest.approx(
        [view.latency.cycle_s(each.latency_s[1]) for each in (SLOW, FAST)]
    )


def test_without_an_estimator_the_plan_s_figures_are_exact() -> None:
    policy = Seen()
    plan = endpoint(selection=policy)
    d = Dispatcher(Plan(1, {plan.name: plan}))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    d.on_arrival(query(1), 0.0)
    (view,) = policy.views
    assert view.latency is None
    assert set(view.candidates) == {FAST, SLOW}


def test_what_is_measured_on_a_worker_is_what_its_policy_sees_and_no_other() -> None:
    policy = Seen()
    d = learning(endpoint(selection=policy), "w1", "w2")
    factor = {"w1": 1.0, "w2": 1.5}
    for number in range(1, 101):
        (batch,) = launched(d.on_arrival(query(number, float(number)), float(number)))
        run_s = factor[batch.worker] * {"fast": FAST, "slow": SLOW}[batch.variant].latency_s[1]
        done(d, batch, run_s, number + run_s + 0.002)
    first, second = policy.views[-2:]
    for view in (first, second):
        expected = factor["w1" if view is first else "w2"]
        assert view.latency.run_factor == pytest.approx(expected, rel=0.05)
        assert view.candidates[0].mean_s[1] == pytest.approx(expected * SLOW.latency_s[1] + 0.002, rel=0.08)


def test_batches_of_no_query_are_learned_from() -> None:
    policy = Seen()
    d = learning(endpoint(selection=policy), "w1")
    for number in range(100):
        d.on_measured(
            "w1", "slow", rows=2, run_s=2.0 * SLOW.latency_s[2], total_s=2.0 * SLOW.latency_s[2] + 0.004, now_s=number
        )
    d.on_measured("w1", "unheard of", rows=1, run_s=9.0, total_s=9.0, now_s=100.0)
    d.on_measured("w1", "slow", rows=1000, run_s=9.0, total_s=9.0, now_s=100.0)
    d.on_measured("nobody", "slow", rows=1, run_s=9.0, total_s=9.0, now_s=100.0)
    d.on_arrival(query(1, 200.0), 200.0)
    assert policy.views[-1].latency.run_factor >= 1.9
    assert policy.views[-1].candidates[0].mean_s[1] >= 1.9 * SLOW.latency_s[1]


def test_a_worker_that_comes_back_is_known_no_more_than_the_others() -> None:
    d = learning(endpoint(), "w1")
    serve(d, 50, run_s=0.12, total_s=0.122)
    assert d.learning is not None
    assert d.learning.latency.estimate("w1").run_factor > 2.5
    d.on_workers_lost(["w1"], 60.0)
    assert d.learning.latency.estimate("w1").run_factor == 1.0


def test_the_slack_that_may_be_spent_shrinks_while_deadlines_are_missed() -> None:
    policy = Seen()
    d = learning(endpoint(selection=policy), "w1")
    serve(d, 40, run_s=0.001, total_s=0.2)
    feedback = d.queues.feedback("digits")
    assert feedback is not None
    assert feedback.share < 1.0
    d.on_arrival(query(100, 100.0), 100.0)
    view = policy.views[-1]
    assert view.slack_share == feedback.share
    assert view.slack_s == pytest.approx(0.1 * feedback.share)
    assert view.load_qps == d.plan.endpoints["digits"].stage.load.load_qps(100.0)
    assert policy.deadlines_s == pytest.approx([100.0 + 0.1 * feedback.share])
    assert view.first_arrival_s == 100.0


def test_clients_that_allow_less_than_the_objective_are_no_cause() -> None:
    d = learning(endpoint(), "w1")
    serve(d, 40, run_s=0.001, total_s=0.09, slo_s=0.05)
    assert d.queues.feedback("digits").share == 1.0
    serve(d, 40, run_s=0.001, total_s=0.2, slo_s=0.5, first_id=100)
    assert d.queues.feedback("digits").share == 1.0, "nor are those that allow more, while they get it"


def test_what_a_policy_says_cannot_be_met_is_no_cause() -> None:
    lost = Seen(Promise(accuracy=0.0, violation_rate=1.0, unavoidable_rate=1.0))
    d = learning(endpoint(selection=lost), "w1")
    serve(d, 40, run_s=0.001, total_s=0.2)
    assert d.queues.feedback("digits").share == 1.0


def test_an_endpoint_that_is_not_served_has_no_feedback() -> None:
    assert isinstance(learning(endpoint()).queues.feedback("digits"), SlackFeedback)
    assert learning(endpoint()).queues.feedback("unknown") is None


def test_a_share_of_the_slack() -> None:
    assert within(0.5, 10.0, 10.2) == pytest.approx(10.1)
    assert within(0.5, 10.0, 9.8) == 9.8, "what has passed stays"
