"""The benchmark of the ways to a worker finds every way, and what each costs."""

from pathlib import Path

import pytest

from benchmarks.worker_calls.__main__ import measured


@pytest.mark.cluster
@pytest.mark.timeout(300)
def test_every_way_is_measured(ray_folder: str) -> None:
    found = measured(Path(ray_folder), [1, 4], batches=10, rounds=2, pause_s=0.001)
    assert list(found) == ["1", "4"]
    assert all(list(ways) == ["handle", "unix_socket", "tcp"] for ways in found.values())
    for cost in (cost for ways in found.values() for cost in ways.values()):
        assert 0.0 < cost["way_ms"] <= cost["way_p95_ms"]
        assert cost["router_cpu_ms"] >= 0.0 <= cost["worker_cpu_ms"]
