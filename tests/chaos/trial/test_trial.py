"""Faults are undone whatever becomes of the rest of a trial."""

from pathlib import Path

import numpy as np
import pytest
from chaoslib.exceptions import ActivityFailed

from chaos.trial import trial
from chaos.trial.bench import Bench
from chaos_scene import PLAYED, bench_of
from serve_app.testing.sender import Load


def test_a_load_generator_that_died_leaves_no_fault_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def died(self: Bench) -> None:
        raise RuntimeError("the load generator is gone")

    monkeypatch.setattr(Bench, "finish", died)
    bench = bench_of([], tmp_path)
    trial.share(PLAYED, bench)
    try:
        began = trial.begin(PLAYED)
        began.load = Load(np.array([]), 1.0, 0.0)
        undone: list[str] = []
        for name in ("hang", "artifact"):
            began.undoing(name).callback(undone.append, name)
        with pytest.raises(RuntimeError, match="the load generator is gone"):
            trial.end()
        assert sorted(undone) == ["artifact", "hang"]
        trial.end()
        with pytest.raises(ActivityFailed, match="no service under test"):
            trial.current()
    finally:
        trial.share(PLAYED, None)
