"""The dispatcher among queries of different lengths: who shares a batch, in which order, and whose rows are whose."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from length_scene import LONGEST, SHARE, TYPICAL, endpoint

from dispatch.batching.adaptive_batching import AdaptiveBatching
from dispatch.batching.nexus import EarlyDrop
from dispatch.commands import Launch
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.lengths.buckets import padding_share
from dispatch.lengths.observed import FIRST_LOOK
from dispatch.plan import Plan
from dispatch.query import Batch, Query
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy
from dispatch.selection.slack_fit import SlackFitSelection
from dispatch.worker_info import WorkerInfo
from dispatch_scene import Patient, answers, launched, rejected

ACCURATE = Candidate("accurate", 0.9, (0.0, *(0.010 + 0.004 * n for n in range(1, 9))))
FAST = Candidate("fast", 0.7, (0.0, *(0.001 + 0.0005 * n for n in range(1, 9))))
BOTH = (ACCURATE, FAST)
POLICIES: list[SelectionPolicy] = [GreedySelection(), SlackFitSelection(), AdaptiveBatching(), EarlyDrop(), Patient(3)]


def started(policy: SelectionPolicy, workers: int = 1, *, measured: bool = False, **changes: Any) -> Dispatcher:
    plan = Plan(1, {"spans": endpoint(BOTH, selection=policy, **changes)})
    made = Dispatcher(plan, LatencyEstimator(0.001) if measured else None)
    for number in range(workers):
        made.on_worker_ready(f"w{number}", WorkerInfo("cpu"), ["accurate", "fast"], 0.0)
    return made


def query(number: int, now_s: float, length: int, slo_s: float = 0.2, rows: int = 1) -> Query:
    return Query(number, "spans", now_s, now_s + slo_s, rows, {"own": number}, length=length)


def done(d: Dispatcher, batch: Batch, now_s: float) -> list[Any]:
    return d.on_done(batch.worker, batch.id, [{"own": job.query.inputs["own"]} for job in batch.jobs], 0.001, now_s)


EVENTS = st.lists(
    st.tuples(st.floats(0.0, 0.02), st.integers(1, LONGEST), st.sampled_from([0.02, 0.1, 0.3]), st.integers(1, 3)),
    min_size=1,
    max_size=3 * FIRST_LOOK // 2,
)


@given(EVENTS, st.sampled_from(POLICIES), st.booleans(), st.sampled_from(["round_robin", "central"]), st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_whatever_comes_batches_hold_to_the_share_the_first_goes_first_and_answers_are_ones_own(
    events: list[tuple[float, int, float, int]],
    policy: SelectionPolicy,
    measured: bool,
    balancing: str,
    workers: int,
) -> None:
    d = started(policy, workers, measured=measured, balancing=balancing)
    running: list[tuple[float, Batch]] = []
    ended: dict[int, Any] = {}
    now_s = 0.0

    def see(commands: list[Any]) -> None:
        for command in commands:
            if isinstance(command, Launch):
                batch = command.batch
                lengths = [job.length for job in batch.jobs for _ in range(job.rows)]
                assert padding_share(lengths) <= SHARE + 1e-9
                assert batch.length == max(lengths)
                assert batch.rows == len(lengths)
                urgency = [(job.deadline_s, job.id) for job in batch.jobs]
                assert urgency == sorted(urgency)
                lane = d.workers[batch.worker].lanes[batch.stage]
                waits = lane.queue.first()
                assert waits is None or urgency[0] < (waits.deadline_s, waits.id), "who is due first is in the batch"
                factor = batch.length / TYPICAL
                candidate = ACCURATE if batch.variant == "accurate" else FAST
                running.append((now_s + candidate.latency_s[batch.rows] * factor, batch))
        for answer in answers(commands):
            assert answer.outputs == {"own": answer.query.id}
            assert answer.query.id not in ended
            ended[answer.query.id] = answer
        for command in commands:
            if type(command).__name__ == "Reject":
                assert command.query.id not in ended
                ended[command.query.id] = command

    def advance(until_s: float) -> None:
        nonlocal now_s
        while running and min(running, key=lambda entry: entry[0])[0] <= until_s:
            entry = min(running, key=lambda entry: (entry[0], entry[1].id))
            running.remove(entry)
            now_s = entry[0]
            see(done(d, entry[1], now_s))
        now_s = until_s
        see(d.on_timer(now_s))

    for number, (gap_s, length, slo_s, rows) in enumerate(events):
        advance(now_s + gap_s)
        see(d.on_arrival(query(number, now_s, length, slo_s, rows), now_s))
    for _ in range(400):
        if len(ended) == len(events):
            break
        advance(now_s + 0.05)
    assert set(ended) == set(range(len(events)))


def test_a_long_query_waits_for_no_short_one_and_makes_none_longer() -> None:
    d = started(GreedySelection())
    (first,) = launched(d.on_arrival(query(0, 0.0, 16), 0.0))
    for number, length in enumerate([60, 10, 11, 58, 10], start=1):
        assert not d.on_arrival(query(number, 0.001 * number, length), 0.001 * number)
    (second,) = launched(done(d, first, 0.02))
    assert [job.id for job in second.jobs] == [1, 4]
    assert second.length == 60
    (third,) = launched(done(d, second, 0.05))
    assert ([job.id for job in third.jobs], third.length) == ([2, 3, 5], 11)


def test_a_variant_that_a_batch_has_time_for_is_not_taken_where_others_would_be_late_for_it() -> None:
    d = started(GreedySelection(), slo_s=0.2)
    (first,) = launched(d.on_arrival(query(0, 0.0, 4, slo_s=1.0), 0.0))
    d.on_arrival(query(1, 0.0, LONGEST, slo_s=0.100), 0.001)
    d.on_arrival(query(2, 0.0, 4, slo_s=0.101), 0.001)
    (second,) = launched(done(d, first, 0.01))
    assert (second.jobs[0].id, second.variant) == (1, "accurate"), "0.056 s of 0.09 s, and then 0.0015 s"
    d = started(GreedySelection(), slo_s=0.2)
    (first,) = launched(d.on_arrival(query(0, 0.0, 4, slo_s=1.0), 0.0))
    d.on_arrival(query(1, 0.0, LONGEST, slo_s=0.0596), 0.001)
    d.on_arrival(query(2, 0.0, 4, slo_s=0.0597), 0.001)
    (second,) = launched(done(d, first, 0.0035))
    assert (second.jobs[0].id, second.variant) == (1, "fast"), "0.056 s of 0.0561 s would leave the other nothing"


def test_the_length_of_texts_and_tensors_is_found_where_nobody_gave_it() -> None:
    import numpy as np

    d = started(GreedySelection())
    inputs = {"ids": np.zeros((2, 23), np.float32)}
    (batch,) = launched(d.on_arrival(Query(1, "spans", 0.0, 0.2, 2, inputs), 0.0))
    assert (batch.length, batch.jobs[0].length) == (23, 23)


def test_a_worker_is_measured_by_what_its_batches_cost_whatever_their_length() -> None:
    estimates = {}
    for length in (4, LONGEST):
        latency = LatencyEstimator(0.0)
        d = Dispatcher(Plan(1, {"spans": endpoint((FAST,))}), latency)
        d.on_worker_ready("w0", WorkerInfo("cpu"), ["fast"], 0.0)
        now_s = 0.0
        for number in range(200):
            (batch,) = launched(d.on_arrival(query(number, now_s, length), now_s))
            run_s = 2.0 * FAST.latency_s[1] * length / TYPICAL
            now_s += run_s
            d.on_done("w0", batch.id, [{}], run_s, now_s)
            now_s += 0.01
        known = latency.estimate("w0")
        assert known.of_one_length.run_factor == pytest.approx(2.0, rel=0.02)
        assert known.length_factor == pytest.approx(length / TYPICAL, rel=0.1)
        estimates[length] = d.workers["w0"].lanes[batch.stage]
    for lane in estimates.values():
        (candidate,) = lane.at(LONGEST)
        assert candidate.mean_s[1] == pytest.approx(2.0 * FAST.latency_s[1] * LONGEST / TYPICAL, rel=0.05)


@pytest.mark.parametrize("policy", [EarlyDrop(), AdaptiveBatching()])
def test_nobody_is_given_up_for_the_sake_of_other_lengths(policy: SelectionPolicy) -> None:
    only = Candidate("only", 0.9, (0.0, 0.010))
    d = Dispatcher(Plan(1, {"spans": endpoint((only,), selection=policy)}))
    d.on_worker_ready("w0", WorkerInfo("cpu"), ["only"], 0.0)
    (running,) = launched(d.on_arrival(query(1, 0.0, TYPICAL), 0.0))
    back_s = 0.016
    told = d.on_arrival(query(2, 0.001, TYPICAL, 0.0270), 0.001)
    told += d.on_arrival(query(3, 0.001, 1, 0.0271), 0.001)
    told += done(d, running, back_s)
    assert rejected(told) == {}
    (batch,) = launched(told) or launched(d.on_timer(back_s + 0.001))
    assert [job.query.id for job in batch.jobs] == [2]
