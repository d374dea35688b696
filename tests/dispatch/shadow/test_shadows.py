"""Shadow runs of a dispatcher: who is drawn, when a worker has spare capacity, and what clients see of it: nothing."""

from dataclasses import replace

import pytest

import pipeline_scene
from dispatch.commands import Answers, BatchDone, Launch
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.latency.estimator import LatencyEstimator
from dispatch.load.known import KnownLoad
from dispatch.plan import EndpointPlan, Plan
from dispatch.query import Batch
from dispatch.selection.fixed import FixedSelection
from dispatch.shadow.endpoint_shadow import MOST_WAITING, PATIENCE_S
from dispatch.shadow.rules import ShadowRules
from dispatch.worker_info import WorkerInfo
from dispatch_scene import answered, dispatcher, endpoint, launched, query

EVERY = ShadowRules(share=1.0, ballots=Ballots(10))
"""Every query is drawn."""

PAIR = ("fast", "slow")


def watched(
    rules: ShadowRules = EVERY, slo_s: float = 0.1, load_qps: float = 1.0, balancing: str = "round_robin"
) -> EndpointPlan:
    """Served by the fast variant only; the slow one is the reference."""
    made = endpoint(selection=FixedSelection("fast"), balancing=balancing).with_stage(load=KnownLoad([0.0], [load_qps]))
    return replace(made, shadow=rules, limits=replace(made.limits, slo_s=slo_s))


def scene(*workers: str, rules: ShadowRules = EVERY, balancing: str = "round_robin") -> Dispatcher:
    return dispatcher(watched(rules, balancing=balancing), workers=workers or ("w1",))


def say(d: Dispatcher, batch: Batch, label: int, now_s: float) -> list[object]:
    outputs = [{"label": [label] * job.rows} for job in batch.jobs]
    return list(d.on_done(batch.worker, batch.id, outputs, 0.001, now_s))


def shadow_of(commands: list[object]) -> list[Batch]:
    return [each.batch for each in commands if isinstance(each, Launch) and each.batch.shadow]


def test_an_answer_is_compared_with_that_of_the_most_accurate_variant_once_its_worker_is_idle() -> None:
    d = scene()
    (real,) = launched(d.on_arrival(query(1), 0.0))
    commands = say(d, real, 3, 0.002)
    assert [type(each) for each in commands[:2]] == [BatchDone, Answers], "the client has its answer before that"
    (shadow,) = shadow_of(commands)
    assert (shadow.variant, shadow.worker, shadow.jobs) == ("slow", "w1", real.jobs)
    after = say(d, shadow, 3, 0.05)
    assert after == [], "nothing of it is metered or answered"
    (agreement,) = d.shadows.by_endpoint["digits"].agreements.values()
    assert (agreement.compared, agreement.agreed) == (1, 1)
    assert d.workers["w1"].batch is None


def test_disagreement_counts_row_by_row() -> None:
    d = dispatcher(watched(slo_s=0.3))
    (real,) = launched(d.on_arrival(query(1, rows=3), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    d.on_done(shadow.worker, shadow.id, [{"label": [3, 4, 3]}], 0.04, 0.05)
    (agreement,) = d.shadows.by_endpoint["digits"].agreements.values()
    assert (agreement.compared, agreement.agreed) == (3, 2)


def test_nothing_is_run_while_queries_wait() -> None:
    d = scene()
    (first,) = launched(d.on_arrival(query(1), 0.0))
    d.on_arrival(query(2), 0.0)
    commands = say(d, first, 3, 0.002)
    (second,) = launched([each for each in commands if isinstance(each, Launch)])  # type: ignore[list-item]
    assert not second.shadow
    (shadow,) = shadow_of(say(d, second, 3, 0.004))
    assert shadow.jobs == first.jobs


def test_nothing_is_run_where_a_query_that_came_at_once_could_not_have_the_slowest_variant_any_more() -> None:
    for slo_s, runs in ((0.079, 0), (0.081, 1)):  # the slow variant takes 0.04 s, and so would a query behind it
        d = dispatcher(watched(slo_s=slo_s))
        (real,) = launched(d.on_arrival(query(1, slo_s=slo_s), 0.0))
        assert len(shadow_of(say(d, real, 3, 0.002))) == runs


@pytest.mark.parametrize(
    ("load_qps", "slo_s", "runs"), [(30.0, 0.13, 1), (30.0, 0.11, 0), (99.0, 9.0, 1), (101.0, 9.0, 0)]
)
def test_nothing_is_run_while_more_queries_are_to_be_expected_than_may_come(
    load_qps: float, slo_s: float, runs: int
) -> None:
    """At 30 queries/s one more comes in the 40 ms of a run, and two rows take the slow variant 80 ms."""
    d = dispatcher(watched(slo_s=slo_s, load_qps=load_qps))
    (real,) = launched(d.on_arrival(query(1, slo_s=slo_s), 0.0))
    assert len(shadow_of(say(d, real, 3, 0.002))) == runs


def test_drawn_queries_wait_within_bounds() -> None:
    d = dispatcher(watched(load_qps=1000.0))
    for number in range(1, 101):
        (real,) = launched(d.on_arrival(query(number, 0.01 * number), 0.01 * number))
        assert shadow_of(say(d, real, 3, 0.01 * number + 0.001)) == []
    shadow = d.shadows.by_endpoint["digits"]
    assert (shadow.drawn, len(shadow.waiting), shadow.dropped) == (100, MOST_WAITING, 100 - MOST_WAITING)


def test_nothing_is_run_while_feedback_holds_policies_back() -> None:
    d = scene()
    d.queues.by_name["digits"].feedback.share = 0.8
    (real,) = launched(d.on_arrival(query(1), 0.0))
    assert shadow_of(say(d, real, 3, 0.002)) == []


def test_a_drawn_query_waits_for_a_worker_that_holds_the_reference_and_not_for_ever() -> None:
    d = Dispatcher(Plan(1, {"digits": watched()}))
    d.on_worker_ready("w1", WorkerInfo("cpu"), ["fast"], 0.0)
    d.on_worker_ready("w2", WorkerInfo("cpu"), ["slow"], 0.0)
    shadow = d.shadows.by_endpoint["digits"]
    assert shadow.reference is not None
    assert shadow.reference.variant == "slow"
    batches = launched(d.on_arrival(query(1), 0.0))
    while batches and batches[0].worker != "w1":  # the fixed policy has nothing to choose from on w2
        batches = launched(say(d, batches[0], 3, 0.001)) + launched(d.on_arrival(query(2, 0.002), 0.002))  # type: ignore[arg-type]
    (begun,) = shadow_of(say(d, batches[0], 3, 0.01))
    assert begun.worker == "w2"
    d.on_workers_lost(["w2"], 0.02)
    assert d.shadows.by_endpoint["digits"].reference is None, "there is nothing to compare with any more"


def test_an_old_sample_is_dropped() -> None:
    d = scene()
    shadow = d.shadows.by_endpoint["digits"]
    d.queues.by_name["digits"].feedback.share = 0.8
    (real,) = launched(d.on_arrival(query(1), 0.0))
    say(d, real, 3, 0.002)
    assert len(shadow.waiting) == 1
    d.queues.by_name["digits"].feedback.share = 1.0
    now_s = 1.0 + PATIENCE_S
    (real,) = launched(d.on_arrival(query(2, now_s), now_s))
    (begun,) = shadow_of(say(d, real, 3, now_s + 0.002))
    assert begun.jobs[0].query.id == 2
    assert shadow.dropped == 1


@pytest.mark.parametrize("end", ["failed", "died", "taken away", "hung"])
def test_a_shadow_run_that_comes_to_nothing_costs_no_query(end: str) -> None:
    d = Dispatcher(Plan(1, {"digits": watched(slo_s=1.0)}), LatencyEstimator(0.001))
    for worker in ("w1", "w2"):
        d.on_worker_ready(worker, WorkerInfo("cpu"), PAIR, 0.0)
    (real,) = launched(d.on_arrival(query(1), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    if end == "failed":
        commands = d.on_failed(shadow.worker, shadow.id, "no", 0.003)
    elif end in ("died", "taken away"):
        commands = d.on_workers_lost([shadow.worker], 0.003, died=end == "died")
    else:
        now_s, commands = 0.002, []
        while shadow.worker in d.workers:
            now_s += 0.25
            commands = d.on_timer(now_s)
            assert now_s < 100.0
    assert not any(isinstance(each, Launch | Answers) for each in commands)
    assert d.queues.rows("digits") == 0
    assert not d.queues.running
    counts = d.shadows.by_endpoint["digits"]
    assert (counts.drawn, counts.compared, counts.dropped) == (1, 0, 1)
    assert not d.shadows._running, "its inputs are let go"
    (again,) = launched(d.on_arrival(query(2, 200.0), 200.0))
    assert answered(say(d, again, 3, 200.01)) == [2]  # type: ignore[arg-type]


def test_a_query_that_is_cancelled_after_its_answer_leaves_its_shadow_run_alone() -> None:
    d = scene()
    (real,) = launched(d.on_arrival(query(1), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    d.on_cancel(real.jobs[0].query)
    assert not d.queues.any_withdrawn
    say(d, shadow, 3, 0.05)
    assert d.shadows.by_endpoint["digits"].compared == 1


def test_a_shadow_job_is_not_taken_for_one_of_a_pipeline_that_has_its_name_by_now() -> None:
    d = scene()
    (real,) = launched(d.on_arrival(query(1), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    d.apply(Plan(2, {}), 0.003)
    made = pipeline_scene.sequence()
    plan = pipeline_scene.plan(made).endpoints["e"]
    d.apply(Plan(3, {"digits": replace(plan, name="digits")}), 0.003)
    for worker in "abc":
        d.on_worker_ready(worker, WorkerInfo("cpu"), [worker], 0.003)
    asked = pipeline_scene.asking(2, 0.003)._replace(endpoint="digits")
    (job,) = (job for each in launched(d.on_arrival(asked, 0.003)) for job in each.jobs)
    assert job.id == shadow.jobs[0].id
    d.on_cancel(asked)
    say(d, shadow, 3, 0.05)
    assert d.queues.any_withdrawn, "its own job runs on"
    pipeline_scene.done(d, "a", 0.06)
    assert pipeline_scene.nothing_is_left(d, made)


def test_a_query_that_comes_during_a_shadow_run_waits_for_it_alone() -> None:
    d = scene()
    (real,) = launched(d.on_arrival(query(1), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    assert launched(d.on_arrival(query(2, 0.003), 0.003)) == []
    (second,) = launched(say(d, shadow, 3, 0.042))  # type: ignore[arg-type]
    assert not second.shadow
    assert second.jobs[0].query.id == 2


def test_with_a_common_queue_an_idle_worker_takes_what_comes_during_a_shadow_run() -> None:
    d = scene("w1", "w2", balancing="central")
    (real,) = launched(d.on_arrival(query(1), 0.0))
    (shadow,) = shadow_of(say(d, real, 3, 0.002))
    (second,) = launched(d.on_arrival(query(2, 0.003), 0.003))
    assert second.worker != shadow.worker


def test_the_share_that_is_drawn_is_the_share_that_was_asked_for_and_the_seed_says_which() -> None:
    def drawn(seed: int) -> list[int]:
        d = scene(rules=replace(EVERY, share=0.1, seed=seed))
        ids = []
        for number in range(1, 2001):
            now_s = float(number)
            (real,) = launched(d.on_arrival(query(number, now_s), now_s))
            for batch in shadow_of(say(d, real, 3, now_s + 0.002)):
                ids.append(batch.jobs[0].query.id)
                say(d, batch, 3, now_s + 0.05)
        return ids

    first = drawn(1)
    assert 150 < len(first) < 250
    assert drawn(1) == first
    assert drawn(2) != first


def test_answers_of_the_reference_itself_and_of_a_lone_variant_are_not_drawn() -> None:
    made = replace(endpoint(selection=FixedSelection("slow")), shadow=EVERY)
    d = dispatcher(made)
    (real,) = launched(d.on_arrival(query(1), 0.0))
    assert shadow_of(say(d, real, 3, 0.05)) == []
    assert d.shadows.by_endpoint["digits"].drawn == 0


def test_an_endpoint_without_shadow_runs_has_none() -> None:
    d = dispatcher(endpoint(selection=FixedSelection("fast")))
    (real,) = launched(d.on_arrival(query(1), 0.0))
    assert shadow_of(say(d, real, 3, 0.002)) == []
    assert d.shadows.by_endpoint == {}
