"""The dispatcher under random histories: every query gets exactly one answer, whatever happens."""

from dataclasses import replace
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.admission.rules import AdmissionRules
from dispatch.balancing.registry import BALANCERS, create_balancer
from dispatch.balancing.weighted_shares import WeightedShares
from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.aimd import AdditiveIncrease
from dispatch.batching.nexus import EarlyDrop
from dispatch.commands import Answers, Command, GiveUp, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.ensemble.ballots import Ballots
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.recovery.batch_watch import LOOK_EVERY_S
from dispatch.recovery.retries import MAX_ATTEMPTS, MAX_LOSSES
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import SelectionPolicy
from dispatch.shadow.rules import ShadowRules
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Faulty, Patient, endpoint, finish, query

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["arrive"] * 4
            + ["done"] * 3
            + ["fail", "lose", "die", "hang", "join", "reassign", "timer", "cancel", "plan"]
        ),
        st.integers(0, 7),
        st.floats(0.0, 0.05),
    ),
    max_size=120,
)


POLICIES = (GreedySelection(), Patient(rows=3), AdaptiveBatching(), EarlyDrop(), AdditiveIncrease(), Faulty())
BALANCINGS = (*BALANCERS, "weighted")


@settings(max_examples=400)
@given(
    EVENTS,
    st.booleans(),
    st.sampled_from(BALANCINGS),
    st.sampled_from(POLICIES),
    st.sampled_from([(), (0,), (0, 1)]),
    st.booleans(),
    st.booleans(),
)
def test_every_query_gets_exactly_one_answer_whatever_happens(
    events: list[tuple[str, int, float]],
    drop_late: bool,
    balancing: str,
    selection: SelectionPolicy,
    admitting: tuple[int, ...],
    measured: bool,
    shadowed: bool,
) -> None:
    shadow = ShadowRules(0.5, Ballots(1000, "y")) if shadowed else None

    def plan(version: int, how: str) -> Plan:
        rules = AdmissionRules() if version % 2 in admitting else None
        made = endpoint(drop_late=drop_late, max_queued_rows=12, selection=selection, admission=rules)
        balancer = WeightedShares({"w0": 0.7, "w1": 0.2}) if how == "weighted" else create_balancer(how)
        return Plan(version, {"digits": replace(made.with_stage(balancer=balancer), shadow=shadow)})

    d = Dispatcher(plan(1, balancing), LatencyEstimator(0.001) if measured else None, lambda *_: None)
    for worker in ("w0", "w1"):
        d.on_worker_ready(worker, WorkerInfo("cpu"), ["fast", "slow"], 0.0)
    running: dict[str, list[Batch]] = {}
    given_up: dict[str, Batch] = {}
    outcomes: dict[int, int] = {}
    cancelled: set[int] = set()
    queries: list[Query] = []
    now_s = 0.0
    wake_s = inf

    def note(commands: list[Command]) -> None:
        nonlocal wake_s
        for command in commands:
            if isinstance(command, Launch):
                batch = command.batch
                before = running.setdefault(batch.worker, [])
                assert len(before) <= measured, "a worker runs one batch at a time, behind which one may wait"
                assert not before or not (before[0].shadow or batch.shadow or before[0].jobs[0].alone)
                assert not (before and batch.jobs[0].losses), "were the worker to die, nobody would know of which"
                assert batch.variant in d.workers[batch.worker].variants
                assert {job.query.endpoint for job in batch.jobs} == {batch.endpoint}
                before.append(batch)
                for job in batch.jobs:
                    assert job.attempt < MAX_ATTEMPTS
                    assert job.losses < MAX_LOSSES
                    assert not job.alone or len(batch.jobs) == 1
            elif isinstance(command, GiveUp):
                (given_up[command.batch.worker], *_) = running.pop(command.batch.worker)
                assert given_up[command.batch.worker] == command.batch
                assert command.batch.worker not in d.workers
            elif isinstance(command, WakeAt):
                assert command.at_s < wake_s, "a new one is never later than the one before"
                wake_s = command.at_s
            elif isinstance(command, Answers):
                for answer in command.each():
                    outcomes[answer.query.id] = outcomes.get(answer.query.id, 0) + 1
            elif isinstance(command, Reject):
                outcomes[command.query.id] = outcomes.get(command.query.id, 0) + 1

    def ring(at_s: float) -> None:
        nonlocal wake_s
        wake_s = inf
        note(d.on_timer(at_s))

    for kind, which, step_s in events:
        now_s += step_s
        if wake_s <= now_s:
            ring(now_s)
        worker = f"w{which % 3}"
        if kind == "arrive":
            priority = 1 + len(queries) % 3
            queries.append(query(len(queries), now_s, slo_s=0.02 * (1 + which), rows=1 + which % 3, priority=priority))
            note(d.on_arrival(queries[-1], now_s))
        elif kind == "join":
            note(d.on_worker_ready(worker, WorkerInfo("cpu"), ["fast", "slow"][: 1 + which % 2], now_s))
        elif kind in ("lose", "die"):
            running.pop(worker, None)
            note(d.on_workers_lost([worker, "unknown"], now_s, died=kind == "die"))
        elif kind == "hang":
            for _ in range(2 + which * 6):
                now_s += LOOK_EVERY_S
                ring(now_s)
            for late in [given_up.pop(each) for each in list(given_up)][: which % 3]:
                assert finish(d, late, now_s) == [], "it was given up"
                note(d.on_worker_ready(late.worker, WorkerInfo("cpu"), ["fast", "slow"], now_s))
        elif kind == "timer":
            ring(now_s)
        elif kind == "plan":
            held = {worker: ["slow"]} if which > 4 else {}
            note(d.apply(plan(d.plan.version + 1, BALANCINGS[which % 4]), now_s, held))
        elif kind == "reassign":
            note(d.reassign({"w0": ["fast", "slow"][which % 3 :], "w1": ["slow"]}, now_s))
        elif kind == "cancel" and queries:
            victim = queries[which % len(queries)]
            if victim.id not in outcomes:
                cancelled.add(victim.id)
                d.on_cancel(victim)
        elif running.get(worker):
            batch = running[worker].pop(0)
            if kind == "done":
                note(finish(d, batch, now_s))
            elif kind == "fail":
                note(d.on_failed(batch.worker, batch.id, "broken", now_s))
    note(d.on_worker_ready("w9", WorkerInfo("cpu"), ["fast", "slow"], now_s))
    for _ in range(10 * len(queries) + 10):
        if not any(running.values()) and wake_s == inf:
            break
        now_s = max(now_s + 0.01, min(wake_s, now_s + 1.0))
        if busy := [each for each, batches in running.items() if batches]:
            note(finish(d, running[min(busy)].pop(0), now_s))
        if wake_s <= now_s:
            ring(now_s)
    assert {q.id for q in queries} - cancelled == set(outcomes)
    assert all(count == 1 for count in outcomes.values())
    assert d.queues.rows("digits") == 0
    assert all(s.load.queued_rows == 0 and s.load.running_rows == 0 for s in d.workers.values())
