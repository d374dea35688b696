"""What a live router reckoned with, by its status."""

import pytest

from benchmarks.live_ramsis.latency import estimates_of
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
