"""The events and commands of the dispatcher, on small scenes."""

from dataclasses import dataclass, field

import pytest

from catalog.errors import BadRequest, DeadlineMissed, NoWorker, Saturated, UnknownEndpoint, VariantFailed
from dispatch.balancing.round_robin import RoundRobin
from dispatch.commands import Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.load.known import KnownLoad
from dispatch.plan import EndpointPlan, Plan, StagePlan
from dispatch.recovery.retries import MAX_ATTEMPTS
from dispatch.selection.fixed import FixedSelection
from dispatch.selection.policy import Choice, QueueView
from dispatch.worker_info import WorkerInfo
from dispatch_scene import FAST, answered, answers, dispatcher, endpoint, finish, launched, query, rejected


def test_a_query_to_an_idle_worker_is_launched_at_once() -> None:
    (batch,) = launched(dispatcher().on_arrival(query(1), 0.0))
    assert (batch.worker, batch.variant, batch.rows) == ("w1", "slow", 1)


def test_queries_wait_while_the_worker_runs_and_then_go_in_one_batch() -> None:
    d = dispatcher()
    (first,) = launched(d.on_arrival(query(1), 0.0))
    assert d.on_arrival(query(2), 0.01) == []
    assert d.on_arrival(query(3), 0.02) == []
    commands = finish(d, first, 0.045)
    assert answered(commands) == [1]
    (second,) = launched(commands)
    assert [job.query.id for job in second.jobs] == [2, 3]
    assert second.variant == "fast"  # two rows on the slow one would take 80 ms of the 65 that are left


def test_each_query_gets_its_own_outputs_and_times() -> None:
    d = dispatcher()
    (first,) = launched(d.on_arrival(query(1), 0.0))
    d.on_arrival(query(2, rows=2), 0.0)
    d.on_arrival(query(3), 0.0)
    (second,) = launched(finish(d, first, 0.05))
    by_id = {answer.query.id: answer for answer in answers(finish(d, second, 0.06))}
    assert by_id[2].outputs == {"y": [2, 2]}
    assert by_id[3].outputs == {"y": [3]}
    assert by_id[3].batch_rows == 3
    assert by_id[3].queue_s == pytest.approx(0.05)
    assert by_id[3].latency_s == pytest.approx(0.06)
    assert by_id[3].deadline_met


def test_a_late_query_is_answered_late_where_the_endpoint_does_not_drop() -> None:
    d = dispatcher()
    (first,) = launched(d.on_arrival(query(1), 0.0))
    d.on_arrival(query(2), 0.0)
    (second,) = launched(finish(d, first, 5.0))
    (answer,) = answers(finish(d, second, 5.1))
    assert not answer.deadline_met


def test_a_late_query_is_refused_on_time_also_behind_a_long_batch() -> None:
    d = dispatcher(endpoint(drop_late=True))
    d.on_arrival(query(1), 0.0)
    commands = d.on_arrival(query(2), 0.0)
    assert commands == [WakeAt(0.1)]
    assert rejected(d.on_timer(0.1)) == {2: DeadlineMissed}
    assert d.queues.rows("digits") == 0


def test_a_full_queue_refuses_with_the_numbers() -> None:
    d = dispatcher(endpoint(max_queued_rows=2))
    for query_id in (1, 2, 3):
        assert not rejected(d.on_arrival(query(query_id), 0.0))
    (reject,) = [c for c in d.on_arrival(query(4), 0.0) if isinstance(c, Reject)]
    assert isinstance(reject.error, Saturated)
    assert "2 rows waiting and holds 2 at most" in str(reject.error)


def test_a_query_of_more_rows_than_the_queue_ever_holds_is_refused_for_good() -> None:
    d = dispatcher()
    d.apply(Plan(2, {"digits": endpoint(max_queued_rows=2)}), 0.0)
    (reject,) = [c for c in d.on_arrival(query(1, rows=3), 0.0) if isinstance(c, Reject)]
    assert isinstance(reject.error, BadRequest)
    assert not reject.error.retryable
    assert "brings 3 rows" in str(reject.error)
    assert "'digits' holds 2 at most" in str(reject.error)
    (batch,) = launched(d.on_arrival(query(2, rows=2), 0.0))
    assert answered(finish(d, batch, 0.01)) == [2]


def test_an_unknown_endpoint_is_refused_with_the_known_ones() -> None:
    (reject,) = [c for c in dispatcher().on_arrival(query(1, name="nope"), 0.0) if isinstance(c, Reject)]
    assert isinstance(reject.error, UnknownEndpoint)
    assert "endpoints here: digits" in str(reject.error)


def test_a_query_waits_for_a_worker_and_is_refused_at_its_deadline_when_none_comes() -> None:
    d = dispatcher(workers=())
    assert d.on_arrival(query(1), 0.0) == [WakeAt(0.1)]
    assert d.on_arrival(query(2, 0.0, slo_s=0.5), 0.0) == []
    commands = d.on_timer(0.1)
    assert rejected(commands) == {1: NoWorker}
    assert WakeAt(0.5) in commands
    (batch,) = launched(d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 0.2))
    assert [job.query.id for job in batch.jobs] == [2]


def test_nothing_is_launched_on_a_worker_that_does_not_hold_the_variant() -> None:
    d = Dispatcher(Plan(1, {"digits": endpoint(selection=FixedSelection("slow"))}))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 0.0)
    (batch,) = launched(d.on_arrival(query(1), 0.0))
    assert batch.variant == "fast"


def test_a_worker_of_another_device_without_candidates_gets_no_jobs() -> None:
    d = dispatcher()
    d.on_worker_ready("gpu1", WorkerInfo("cuda"), ["fast", "slow"], 0.0)
    assert {b.worker for i in range(1, 5) for b in launched(d.on_arrival(query(i), 0.0))} == {"w1"}


def test_round_robin_spreads_over_the_workers() -> None:
    d = dispatcher(workers=("w1", "w2", "w3"))
    batches = [b for i in range(1, 4) for b in launched(d.on_arrival(query(i), 0.0))]
    assert [b.worker for b in batches] == ["w1", "w2", "w3"]


def test_what_a_lost_worker_ran_and_held_goes_to_the_others() -> None:
    d = dispatcher(workers=("w1", "w2"))
    (running, _) = [b for i in (1, 2) for b in launched(d.on_arrival(query(i), 0.0))]
    d.on_arrival(query(3), 0.0)
    assert running.worker == "w1"
    assert d.on_workers_lost(["w1"], 0.01) == []  # w2 is busy; all wait for it
    assert finish(d, running, 0.02) == []  # a result from beyond the grave is nobody's
    (on_w2,) = [s.batch for s in d.workers.values() if s.batch]
    (batch,) = launched(finish(d, on_w2, 0.03))
    assert sorted(job.query.id for job in batch.jobs) == [1, 3]


def test_a_failed_batch_is_tried_one_by_one_on_another_variant() -> None:
    d = dispatcher()
    (first,) = launched(d.on_arrival(query(1), 0.0))
    d.on_arrival(query(2), 0.0)
    (pair,) = launched(finish(d, first, 0.001))
    assert pair.variant == "slow"
    (retry,) = launched(d.on_failed("w1", pair.id, "ValueError: bad", 0.002))
    assert (retry.variant, retry.rows) == ("fast", 1)


def test_a_query_that_fails_everywhere_is_refused_with_the_last_reason() -> None:
    d = dispatcher()
    commands = d.on_arrival(query(1), 0.0)
    for _ in range(MAX_ATTEMPTS):
        (batch,) = launched(commands)
        commands = d.on_failed("w1", batch.id, "ValueError: poison", 0.0)
    (reject,) = [c for c in commands if isinstance(c, Reject)]
    assert isinstance(reject.error, VariantFailed)
    assert "ValueError: poison" in str(reject.error)
    assert launched(d.on_arrival(query(2), 0.0)), "the next good query is served"


def test_a_variant_that_keeps_failing_is_avoided_for_a_while() -> None:
    d = dispatcher()
    now_s = 0.0
    for query_id in range(1, 4):
        (batch,) = launched(d.on_arrival(query(query_id, now_s), now_s))
        assert batch.variant == "slow"
        (retry,) = launched(d.on_failed("w1", batch.id, "broken", now_s))
        finish(d, retry, now_s)
    (batch,) = launched(d.on_arrival(query(4, now_s), now_s))
    assert batch.variant == "fast"
    finish(d, batch, now_s)
    (batch,) = launched(d.on_arrival(query(5, 60.0), 60.0))
    assert batch.variant == "slow"


def test_a_withdrawn_query_leaves_its_queue_or_its_result_is_thrown_away() -> None:
    d = dispatcher()
    running, waiting = query(1), query(2)
    (batch,) = launched(d.on_arrival(running, 0.0))
    d.on_arrival(waiting, 0.0)
    d.on_cancel(waiting)
    d.on_cancel(running)
    assert answered(finish(d, batch, 0.01)) == []
    assert d.queues.rows("digits") == 0


def test_the_endpoint_whose_head_is_due_first_goes_first() -> None:
    d = dispatcher(endpoint("a"), endpoint("b"))
    (first,) = launched(d.on_arrival(query(1, name="a"), 0.0))
    d.on_arrival(query(2, slo_s=0.9, name="a"), 0.0)
    d.on_arrival(query(3, slo_s=0.2, name="b"), 0.0)
    (second,) = launched(finish(d, first, 0.01))
    assert second.endpoint == "b"


def test_a_plan_must_be_newer_and_a_dropped_endpoint_refuses_what_waits() -> None:
    d = dispatcher(endpoint("a"), endpoint("b"))
    d.on_arrival(query(1, name="a"), 0.0)
    d.on_arrival(query(2, name="b"), 0.0)
    with pytest.raises(ValueError, match="version 1 is not newer than 1"):
        d.apply(Plan(1, {}), 0.0)
    assert rejected(d.apply(Plan(2, {"a": endpoint("a")}), 0.0)) == {2: UnknownEndpoint}
    assert rejected(d.on_arrival(query(3, name="b"), 0.0)) == {3: UnknownEndpoint}


# -- what a policy sees ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noting:
    """Serves one row at a time and notes what it sees."""

    seen: list[QueueView] = field(default_factory=list)
    name: str = "noting"

    def choose(self, view: QueueView) -> Choice:
        self.seen.append(view)
        return Choice("fast", 1)


def test_a_policy_sees_load_workers_and_the_turn() -> None:
    policy = Noting()
    plan = EndpointPlan.of_stage(
        "digits",
        StagePlan({"cpu": (FAST,)}, policy, RoundRobin(), KnownLoad([0.0, 1.0], [40.0, 90.0])),
        slo_s=0.1,
        max_queued_rows=100,
    )
    d = dispatcher(plan, workers=("w1", "w2", "w3"))
    for query_id, now_s in ((1, 0.0), (2, 0.5), (3, 1.0)):
        d.on_arrival(query(query_id, now_s), now_s)
    assert {view.device for view in policy.seen} == {"cpu"}
    seen = [(view.load_qps, view.workers, view.phase) for view in policy.seen]
    assert seen == [(40, 3, 1 / 3), (40, 3, 1 / 3), (90, 3, 1 / 3)]


def test_a_worker_that_is_free_between_its_turns_sees_how_many_came_since() -> None:
    policy = Noting()
    d = dispatcher(endpoint(selection=policy), workers=("w1", "w2", "w3"))
    (first, *_) = [b for i in range(1, 6) for b in launched(d.on_arrival(query(i), 0.0))]
    finish(d, first, 0.001)  # w1 has queries 1 and 4; 5 went to w2 and 6 is for w3
    assert policy.seen[-1].phase == 2 / 3


def test_the_load_counts_what_arrives_and_not_what_is_tried_again() -> None:
    @dataclass
    class Counting:
        arrivals: int = 0

        def on_arrival(self, now_s: float) -> None:
            self.arrivals += 1

        def load_qps(self, now_s: float) -> float:
            return 0.0

    load = Counting()
    d = dispatcher(endpoint(max_queued_rows=1).with_stage(load=load))
    (batch,) = launched(d.on_arrival(query(1), 0.0))
    d.on_failed("w1", batch.id, "broken", 0.0)
    d.on_arrival(query(2), 0.0)
    assert rejected(d.on_arrival(query(3), 0.0))  # refused, but it came
    d.on_arrival(query(4, name="unknown"), 0.0)
    assert load.arrivals == 3
