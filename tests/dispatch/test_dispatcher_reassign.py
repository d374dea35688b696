"""Workers that hold other variants from one instant on."""

from dataclasses import dataclass

import pytest

from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.dispatcher import Dispatcher
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, Choice, QueueView
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, SLOW, answers, dispatcher, finish, launched, query, rejected


def single(name: str, candidate: Candidate, shares: dict[str, float], slo_s: float = 0.1) -> EndpointPlan:
    return EndpointPlan.of_stage(
        name,
        StagePlan({"cpu": (candidate,)}, GreedySelection(), WeightedShares(shares)),
        slo_s=slo_s,
        drop_late=True,
        max_queued_rows=100,
    )


def two_endpoints(version: int = 1, shares: dict[str, float] | None = None) -> Plan:
    given = shares or {"w1": 1, "w2": 1}
    return Plan(version, {"a": single("a", FAST, given), "b": single("b", SLOW, given)})


def scene() -> Dispatcher:
    made = Dispatcher(two_endpoints())
    for worker in ("w1", "w2"):
        made.on_worker_ready(worker, WorkerInfo("cpu"), ["fast"], 0.0)
    return made


def test_what_waited_for_a_worker_that_switches_is_placed_anew() -> None:
    d = scene()
    running = [batch for n in (1, 2) for batch in launched(d.on_arrival(query(n, name="a"), 0.0))]
    assert [batch.worker for batch in running] == ["w1", "w2"]
    for n in (3, 4, 5, 6):
        assert not launched(d.on_arrival(query(n, name="a"), 0.0))
    assert [d.workers[w].load.queued_rows for w in ("w1", "w2")] == [2, 2]
    assert not rejected(d.reassign({"w1": ["slow"]}, 0.0005))
    assert [d.workers[w].load.queued_rows for w in ("w1", "w2")] == [0, 4]
    assert d.queues.rows("a") == 4


def test_a_batch_goes_on_with_the_variant_that_it_was_launched_on() -> None:
    d = scene()
    (batch,) = launched(d.on_arrival(query(1, name="a"), 0.0))
    d.reassign({"w1": ["slow"]}, 0.0005)
    assert launched(d.on_arrival(query(2, name="b"), 0.0005)) == []  # w1 is busy
    commands = finish(d, batch, 0.001)
    assert [(answer.query.id, answer.variant) for answer in answers(commands)] == [(1, "fast")]
    (following,) = launched(commands)
    assert (following.worker, following.endpoint, following.variant) == ("w1", "b", "slow")


def test_workers_switch_with_one_look_at_who_serves_what(monkeypatch: pytest.MonkeyPatch) -> None:
    d = scene()
    seen = []
    refresh = EndpointQueues.refresh

    def counting(self: EndpointQueues, plan: EndpointPlan, workers: list) -> None:  # type: ignore[type-arg]
        seen.append(plan.name)
        refresh(self, plan, workers)

    monkeypatch.setattr(EndpointQueues, "refresh", counting)
    d.reassign({"w1": ["slow"], "w2": ["slow"], "unknown": ["slow"]}, 0.0)
    assert seen == ["a", "b"]
    assert set(d.workers) == {"w1", "w2"}
    (batch,) = launched(d.on_arrival(query(1, name="b"), 0.0))
    assert batch.variant == "slow"


def test_what_nobody_serves_waits_for_a_worker_that_does() -> None:
    d = scene()
    d.reassign({"w1": [], "w2": []}, 0.0)
    assert launched(d.on_arrival(query(1, name="a"), 0.0)) == []
    assert [batch.worker for batch in launched(d.reassign({"w2": ["fast"]}, 0.05))] == ["w2"]


def test_a_plan_and_what_workers_hold_change_together() -> None:
    d = scene()
    for n in range(1, 7):
        d.on_arrival(query(n, name="a"), 0.0)
    d.apply(two_endpoints(2, {"w2": 1}), 0.0005, {"w1": ["slow"]})
    assert d.plan.version == 2
    assert [d.workers[w].load.queued_rows for w in ("w1", "w2")] == [0, 4]
    with pytest.raises(ValueError, match="plan version 2 is not newer"):
        d.apply(two_endpoints(2), 0.0005, {"w1": ["fast"]})
    assert d.workers["w1"].variants == {"slow"}


@dataclass(frozen=True)
class Counting:
    """Counts its own decisions in its state, and shows what it saw as the number of rows that it asks for."""

    name: str = "counting"
    seen: tuple[list[QueueView], ...] = ([],)

    def choose(self, view: QueueView) -> Choice:
        self.seen[0].append(view)
        return Choice(view.candidates[0].variant, 1, (view.state or 0) + 1)


def test_a_policy_sees_its_state_and_what_became_of_its_batch_again() -> None:
    policy = Counting(seen=([],))
    plan = EndpointPlan.of_stage("a", StagePlan({"cpu": (FAST, SLOW)}, policy, None), slo_s=0.1, max_queued_rows=100)
    d = dispatcher(plan)
    (batch,) = launched(d.on_arrival(query(1, name="a"), 0.0))
    d.on_arrival(query(2, name="a", slo_s=0.15), 0.0)
    d.on_arrival(query(3, name="a", slo_s=0.15), 0.0)
    (batch,) = launched(finish(d, batch, 0.1))  # just in time
    (batch,) = launched(finish(d, batch, 0.16))
    views = policy.seen[0]
    assert [view.state for view in views] == [None, 1, 2]
    assert [view.last and view.last.late for view in views] == [None, False, True]
    d.on_arrival(query(4, 0.16, name="a"), 0.16)
    d.reassign({"w1": ["fast"]}, 0.17)
    finish(d, batch, 0.17)
    assert (views[3].state, views[3].last) == (None, None)
