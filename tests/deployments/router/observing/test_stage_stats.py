"""What a router counts of the stages of a pipeline."""

import pytest

from deployments.router.observing.stage_stats import StageStats
from dispatch.commands import StageRun


def run(jobs: int = 1, began_s: float = 0.0, wait_s: float = 0.1, run_s: float = 0.2, variant: str = "a") -> StageRun:
    launched_s = began_s + wait_s
    return StageRun("read", variant, jobs, began_s, launched_s, launched_s + run_s + 0.05, run_s)


def test_a_stage_counts_queries_jobs_and_every_variant_that_ran_it() -> None:
    stats = StageStats()
    for each in (run(3), run(2, variant="a,b"), run(0, variant="")):
        stats.on_run(each)
    seen = stats.snapshot(0.0)
    assert (seen["queries"], seen["jobs"], seen["variants"]) == (3, 5, {"a": 2, "b": 1})


def test_times_are_from_when_the_jobs_were_made_and_older_ones_are_forgotten() -> None:
    stats = StageStats()
    for began_s in (0.0, 100.0):
        stats.on_run(run(began_s=began_s, wait_s=0.1 + began_s / 1000))
    both, newer = stats.snapshot(0.0), stats.snapshot(50.0)
    assert both["queue_ms"]["mean"] == pytest.approx(150.0)
    assert newer["queue_ms"]["mean"] == pytest.approx(200.0)
    assert newer["run_ms"]["p50"] == pytest.approx(200.0)
    assert newer["latency_ms"]["p99"] == pytest.approx(450.0)
    assert newer["queries"] == 2, "totals stay"


def test_a_stage_that_nothing_ran_has_no_times() -> None:
    seen = StageStats().snapshot(0.0)
    assert (seen["queries"], seen["latency_ms"], seen["variants"]) == (0, None, {})
