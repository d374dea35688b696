"""What batches take in a simulated session of live RAMSIS, and how they are launched."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.live_ramsis.latency import Ahead, MeasuredLatency
from benchmarks.live_ramsis.live import Played
from benchmarks.live_ramsis.loads import CONSTANT, Case
from benchmarks.live_ramsis.simulated import SessionLatency
from benchmarks.live_ramsis.ways import Ways
from catalog.profiles.profile import BatchLatency, LatencyProfile
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.estimator import LatencyEstimator
from dispatch.query import Batch, StageKey
from serve_app.testing.queries import Queries
from workload.rate import RateSchedule, RateStep

CASE = Case(CONSTANT, 0.1, RateSchedule((RateStep(10.0, 2.0),)), 2.0, 0.0, 1)
PATH = MeasuredLatency(path_s=0.002, path_tail_s=0.004, run_factor=1.0, run_tail=1.0, typical_run_s=0.09)
WAYS = Ways(np.zeros(1), np.array([0.002]))
PROFILE = LatencyProfile(
    "cpu", {rows: BatchLatency(9, ms, 0.05 * ms, *(ms,) * 4) for rows, ms in ((1, 5.0), (4, 12.5))}
)


def played(at_s: float, from_s: float, ahead: Sequence[Ahead] = ()) -> Played:
    nobody = Queries(*(np.empty(0) for _ in range(14)))
    return Played(CASE, np.array([at_s]), from_s, nobody, PATH, WAYS, [LatencyEstimate()], {}, {}, ahead=ahead)


def batch(at_s: float) -> Batch:
    return Batch(1, "w", StageKey("e"), "small", 0.6, (), 4, at_s)


def test_batches_are_launched_ahead_as_the_router_did_at_that_time() -> None:
    session = [played(0.0, 0.0, [Ahead(0.0, 0.9, True), Ahead(5.0, 0.3, False)])]
    estimates = LatencyEstimator(0.01)
    latency = SessionLatency({"small": PROFILE}, session, WAYS, [1.0], estimates, seed=1)
    for at_s, wanted in ((0.1, (0.9, True)), (5.0, (0.3, False)), (9.0, (0.3, False)), (1.0, (0.9, True))):
        latency.times_s("cpu", batch(at_s))
        assert (estimates.lead, estimates.all_ahead) == wanted


def test_runs_take_so_many_times_as_long_as_they_did_live() -> None:
    session = [played(0.0, 0.0), played(10.0, 12.0)]
    latency = SessionLatency({"small": PROFILE}, session, WAYS, [1.0, 1.5], LatencyEstimator(0.01), seed=1)
    drawn = {at_s: np.mean([latency.times_s("cpu", batch(at_s))[0] for _ in range(2000)]) for at_s in (5.0, 15.0)}
    assert drawn[15.0] == pytest.approx(1.5 * drawn[5.0], rel=0.02)
    first, second = latency.run_factors
    assert first == pytest.approx(drawn[5.0] / PROFILE.p95_s(4))
    assert second == pytest.approx(drawn[15.0] / PROFILE.p95_s(4))
    assert latency.slack_shares == [1.0, 1.0]
    latency.slack_share = lambda: 0.5
    for at_s in (11.0, 5.0, 5.0):
        latency.times_s("cpu", batch(at_s))
    assert latency.slack_shares == [pytest.approx(2001 / 2002), 1.0], "what is launched before 12 s does not count"


def test_a_way_is_that_of_a_batch_launched_about_then() -> None:
    slow = np.arange(1000) // 100 % 2 == 1
    ways = Ways(np.arange(1000) / 100.0, np.where(slow, 0.05, 0.002))
    rng = np.random.default_rng(0)
    drawn = {at_s: {ways.draw_s(at_s, rng) for _ in range(50)} for at_s in (-3.0, 0.5, 1.5, 2.0, 9.5, 30.0)}
    assert drawn == {-3.0: {0.002}, 0.5: {0.002}, 1.5: {0.05}, 2.0: {0.05, 0.002}, 9.5: {0.05}, 30.0: {0.05}}
    few = Ways(np.array([1.0, 2.0]), np.array([0.003, 0.004]))
    assert {few.draw_s(1.0, rng) for _ in range(50)} == {0.003, 0.004}


def test_ways_of_a_load_are_those_of_its_batches() -> None:
    rows, run_s, way_s = np.array([2, 2, 0, 1]), np.array([0.1, 0.1, np.nan, 0.1]), np.array([0.02, 0.02, np.nan, 0.03])
    done_s = np.array([11.12, 11.12, 15.0, 10.63])
    none, ones = np.zeros(4, dtype=np.bool_), np.ones(4)
    names = np.full(4, "small")
    answers = Queries(
        ones, ones, done_s, none, none, ones, ones, names, ones.astype(np.int64), names, none, run_s, way_s, rows
    )
    found = Ways.of(answers, zero_s=10.0)
    assert found.launched_s == pytest.approx([0.5, 1.0])
    assert found.way_s == pytest.approx([0.03, 0.02])
    later = Ways.joined([found, found], 3.0)
    assert later.launched_s == pytest.approx([3.5, 4.0, 3.5, 4.0])


def test_where_no_answer_tells_of_its_batch_there_is_nothing_to_draw_from() -> None:
    with pytest.raises(RuntimeError, match="no answer says how long its batch was on its way"):
        Ways.of(Queries(*(np.empty(0) for _ in range(14))), zero_s=0.0)
