"""Live and simulated are counted alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.fidelity.__main__ import live_outcome, simulate
from catalog.profiles.profile import BatchLatency, LatencyProfile
from serve_app.cli.config_file import ServeFile
from serve_app.config.schema import AppConfig
from serve_app.loadgen.record import Record


def record(accuracy: float | None, deadline_met: bool | None, error: str | None = None) -> Record:
    return Record(0.0, 0.0, 0.1, 200, "v", accuracy, deadline_met, None, error, error)


def test_late_answers_and_errors_violate_and_do_not_count_for_accuracy() -> None:
    records = [record(0.9, True), record(0.8, True), record(0.99, False), record(None, None, "Saturated")]
    outcome = live_outcome(records)
    assert outcome.accuracy_pct == pytest.approx(85.0)
    assert outcome.violation_pct == pytest.approx(50.0)


def test_without_an_answer_in_time_there_is_no_accuracy() -> None:
    assert live_outcome([record(0.99, False)]).accuracy_pct is None


def _file(**endpoint: Any) -> ServeFile:
    digits = {"task": "digits", "slo_ms": 100, "selection": {"policy": "greedy"}} | endpoint
    app = AppConfig.model_validate({"endpoints": {"digits": digits}, "pools": {"cpu": {}}})
    return ServeFile(Path("config.yaml"), "http://127.0.0.1:8000", app)


def _profile(mean_ms: float) -> LatencyProfile:
    by_batch = {rows: BatchLatency(100, mean_ms * rows, 0.0, *[mean_ms * rows] * 4) for rows in (1, 64)}
    return LatencyProfile("cpu", by_batch)


def test_a_light_load_is_served_by_the_most_accurate_variant_in_time() -> None:
    variants = ["digits-mlp", "digits-cnn-xl"]
    profiles = {"cpu": dict(zip(variants, [_profile(0.1), _profile(1.0)], strict=True))}
    outcome = simulate(_file(variants=variants), profiles, np.arange(100) / 10.0, 0.003)
    assert outcome.accuracy_pct == pytest.approx(97.17)
    assert outcome.violation_pct == 0.0


def test_the_transport_counts() -> None:
    profiles = {"cpu": {"digits-mlp": _profile(0.1)}}
    slow = simulate(_file(variants=["digits-mlp"]), profiles, np.arange(10) / 1.0, 0.2)
    assert slow.violation_pct == 100.0
