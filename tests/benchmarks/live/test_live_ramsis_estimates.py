"""What a live router reckoned with, by its status."""

import pytest

from benchmarks.live_ramsis.latency import Ahead, ahead_of, estimates_of
from serve_app.testing.status_watch import Snapshot


def test_estimates_are_means_over_workers_look_by_look() -> None:
    def look(*path_ms: float) -> Snapshot:
        known = {"path_tail_ms": 9.0, "run_factor": 0.9, "run_tail": 1.1, "lead": 0.5}
        workers = {f"w{i}": {"latency": {"path_ms": each, **known}} for i, each in enumerate(path_ms)}
        return Snapshot(0.0, 0.0, {"workers": workers})

    first, last = estimates_of([look(2.0, 4.0), look(), look(8.0)], typical_run_s=0.07)
    assert [first.path_s, last.path_s] == pytest.approx([0.003, 0.008])
    assert (last.path_tail_s, last.run_factor, last.run_tail, last.typical_run_s, last.lead) == pytest.approx(
        (0.009, 0.9, 1.1, 0.07, 0.5)
    )
    with pytest.raises(RuntimeError, match="gave no status"):
        estimates_of([look()], typical_run_s=0.07)


def test_how_batches_are_launched_ahead_holds_until_half_way_to_the_next_look() -> None:
    def look(told_s: float, *known: tuple[float, bool]) -> Snapshot:
        workers = {f"w{i}": {"latency": {"lead": lead, "all_ahead": all_}} for i, (lead, all_) in enumerate(known)}
        return Snapshot(told_s - 0.1, told_s, {"workers": workers})

    looks = [look(105.0, (0.9, True), (0.5, True)), look(106.0), look(107.0, (0.4, True), (0.4, False))]
    found = ahead_of(looks, begin_s=2.0, zero_s=100.0)
    assert found == (Ahead(2.0, pytest.approx(0.7), True), Ahead(6.0, pytest.approx(0.4), False))
    assert ahead_of([look(106.0)], begin_s=2.0, zero_s=100.0) == ()
