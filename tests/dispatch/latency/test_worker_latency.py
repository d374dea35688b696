"""One worker is followed: what it is, what changes, and what is chance."""

import numpy as np
import pytest
from scipy.stats import norm

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import TAIL, WorkerLatency

PRIOR = LatencyEstimate(run_tail=1.25, path_s=0.010, path_tail_s=0.015)
LOAD_QPS = 100.0


class Worker:
    """A worker of its own speed and way, both lognormal about their means, that runs batches one after the other."""

    def __init__(self, known: WorkerLatency, seed: int = 1, run_sigma: float = 0.1, path_sigma: float = 0.3) -> None:
        self.known = known
        self.now_s = 0.0
        self.load_qps = LOAD_QPS
        self._rng = np.random.default_rng(seed)
        self._sigmas = run_sigma, path_sigma

    def run(self, batches: int, factor: float, path_s: float, variant: str = "v", profiled_s: float = 0.02) -> None:
        for _ in range(batches):
            run, way = (float(self._rng.lognormal(-(s**2) / 2, s)) for s in self._sigmas)
            self.batch(variant, profiled_s, factor * profiled_s * run, path_s * way)

    def batch(self, variant: str, profiled_s: float, run_s: float, path_s: float) -> None:
        self.now_s += run_s + path_s
        self.known.on_batch(variant, profiled_s, run_s, path_s, self.load_qps, self.now_s)

    @property
    def estimate(self) -> LatencyEstimate:
        return self.known.estimate(self.load_qps)


def test_before_the_first_batch_the_prior_holds() -> None:
    estimate = WorkerLatency(PRIOR).estimate(LOAD_QPS)
    assert (estimate.run_factor, estimate.run_tail, estimate.path_s, estimate.path_tail_s, estimate.batches) == (
        1.0,
        1.25,
        0.010,
        0.015,
        0.0,
    )


@pytest.mark.parametrize(("factor", "path_s"), [(0.5, 0.002), (1.0, 0.020), (2.0, 0.005), (3.0, 0.001)])
def test_factor_way_and_their_tails_are_found(factor: float, path_s: float) -> None:
    worker = Worker(WorkerLatency(PRIOR))
    worker.run(2000, factor, path_s)
    seen = worker.estimate
    assert seen.run_factor == pytest.approx(factor, rel=0.06)
    assert seen.run_factors["v"] == pytest.approx(factor, rel=0.06)
    assert seen.path_s == pytest.approx(path_s, rel=0.12)
    z = norm.ppf(TAIL)
    assert seen.path_tail_s == pytest.approx(path_s * np.exp(-(0.3**2) / 2 + 0.3 * z), rel=0.15)
    run_s, jitter_s = factor * 0.02, 0.25 * path_s
    tail = (run_s * np.exp(-(0.1**2) / 2 + 0.1 * z) + jitter_s) / (run_s + jitter_s)
    assert seen.run_tail == pytest.approx(tail, rel=0.06)
    assert seen.typical_run_s == pytest.approx(0.02)


def test_a_change_is_known_within_five_seconds() -> None:
    worker = Worker(WorkerLatency(PRIOR))
    worker.run(1000, 1.0, 0.005)
    changed_s = worker.now_s
    while worker.now_s < changed_s + 5.0:
        worker.run(1, 2.0, 0.020)
    assert worker.estimate.run_factor == pytest.approx(2.0, rel=0.15)
    assert worker.estimate.path_s == pytest.approx(0.020, rel=0.2)


def test_a_variant_that_was_not_run_lately_follows_the_worker() -> None:
    worker = Worker(WorkerLatency(PRIOR), run_sigma=0.0, path_sigma=0.0)
    for _ in range(400):
        worker.run(1, 1.0, 0.005, "usual")
        worker.run(1, 1.5, 0.005, "slower than profiled")
    before = worker.estimate.run_factors
    assert before["usual"] == pytest.approx(1.0, rel=0.05)
    assert before["slower than profiled"] == pytest.approx(1.5, rel=0.05)
    worker.run(500, 2.0, 0.005, "usual")
    after = worker.estimate.run_factors
    assert after["usual"] == pytest.approx(2.0, rel=0.05)
    assert after["slower than profiled"] / after["usual"] > 1.15


def test_what_one_slow_batch_says_of_a_variant_is_not_believed_for_long() -> None:
    worker = Worker(WorkerLatency(PRIOR), run_sigma=0.0, path_sigma=0.0)
    worker.run(100, 1.0, 0.005, "usual")
    worker.run(1, 4.0, 0.005, "new here")
    assert worker.estimate.run_factors["new here"] > 1.4
    worker.run(1200, 1.0, 0.005, "usual")
    assert worker.estimate.run_factors["new here"] == pytest.approx(1.0, rel=0.1)


def test_long_runs_count_for_more_than_short_ones() -> None:
    worker = Worker(WorkerLatency(PRIOR), run_sigma=0.0, path_sigma=0.0)
    for _ in range(1000):
        worker.batch("short", 0.001, 0.004, 0.001)
        worker.batch("long", 0.099, 0.099, 0.001)
    assert worker.estimate.run_factor == pytest.approx((0.004 + 0.099) / 0.100, rel=0.05)


def test_a_pause_is_not_a_speed() -> None:
    worker = Worker(WorkerLatency(PRIOR))
    worker.run(1000, 1.0, 0.005)
    before = worker.estimate
    worker.batch("v", 0.02, 3.0, 0.005)
    after = worker.estimate
    assert after.run_factor < 1.25 * before.run_factor, "150 times the usual run counts as 4 times it"
    assert after.run_tail < 1.2 * before.run_tail
    worker.batch("v", 0.02, 0.02, 3.0)
    assert worker.estimate.path_s < 1.35 * before.path_s
    worker.run(300, 1.0, 0.005)
    assert worker.estimate.run_factor == pytest.approx(1.0, rel=0.05)
    assert worker.estimate.path_s == pytest.approx(0.005, rel=0.15)


def test_differences_that_are_short_beside_the_way_are_no_tail() -> None:
    worker = Worker(WorkerLatency(PRIOR), run_sigma=1.0, path_sigma=0.0)
    worker.run(1000, 1.0, 0.040, profiled_s=0.0001)
    assert worker.estimate.run_tail < 1.1


def test_where_the_load_has_risen_no_less_is_reckoned_with_than_was_seen_at_it() -> None:
    worker = Worker(WorkerLatency(PRIOR))
    worker.run(300, 1.0, 0.005)
    worker.load_qps = 800.0
    worker.run(1000, 2.0, 0.020)
    heavy = worker.estimate
    worker.load_qps = 100.0
    worker.run(2000, 1.0, 0.005)
    calm = worker.estimate
    assert calm.run_factor == pytest.approx(1.0, rel=0.05)
    risen = worker.known.estimate(800.0)
    assert risen.run_factor == pytest.approx(heavy.run_factor, rel=0.1)
    assert risen.path_s == pytest.approx(heavy.path_s, rel=0.15)
    assert risen.run_factors["v"] / calm.run_factors["v"] == pytest.approx(risen.run_factor / calm.run_factor)


def test_at_a_load_that_was_never_seen_more_is_reckoned_with_than_at_the_present_one() -> None:
    worker = Worker(WorkerLatency(PRIOR))
    worker.run(1000, 1.0, 0.005)
    calm, risen = worker.known.estimate(100.0), worker.known.estimate(400.0)
    assert risen.run_factor == pytest.approx(calm.run_factor * 4**0.25, rel=0.1)
    assert risen.path_tail_s > 1.2 * calm.path_tail_s
    barely = worker.known.estimate(130.0)
    assert barely.run_factor == calm.run_factor
