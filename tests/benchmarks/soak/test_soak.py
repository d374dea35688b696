"""Two minutes of the soak."""

from pathlib import Path

import pytest

from benchmarks.soak.__main__ import soak

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
SECONDS = 120.0


def test_two_minutes_with_faults_leave_no_query_without_an_answer(tmp_path: Path) -> None:
    body = soak(SECONDS, seed=1, results=tmp_path)
    assert body["goals"]["no_stuck_query"], body["errors"]
    assert body["goals"]["whole_after_every_fault"], body["not_restored"]
    assert body["goals"]["no_descriptor_leak"], body["processes"]
    assert sum(body["faults"].values()) >= 1
    assert body["processes"]
    assert body["ready_afterwards"]
    assert (tmp_path / "picture.png").stat().st_size > 0
