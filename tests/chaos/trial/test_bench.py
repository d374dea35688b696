"""What a service carries is found by trying, upwards and downwards."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.trial.bench import Bench, client_timeout_s
from chaos_scene import SLO_MS, PlayedSender, bench_of


def taking(folder: Path, run_s: float, most_qps: float = 300.0, slo_ms: float = SLO_MS) -> tuple[Bench, PlayedSender]:
    """A bench of a service that takes so long for a query."""
    sender = PlayedSender(run_s)
    bench = bench_of([], folder, sender)
    bench.service = replace(bench.service, most_qps=most_qps, slo_ms=slo_ms)
    return bench, sender


@pytest.mark.parametrize(
    ("run_s", "slo_ms", "most_qps", "carried_qps"),
    [
        (0.001, 100.0, 300.0, 160.0),  # 320 would be more than the most
        (0.02, 100.0, 300.0, 40.0),
        (0.15, 1000.0, 300.0, 5.0),
        (0.3, 3000.0, 300.0, 2.5),
        (0.001, 100.0, 20.0, 20.0),
    ],
)
def test_the_highest_load_that_was_borne_is_what_it_carries(
    tmp_path: Path, run_s: float, slo_ms: float, most_qps: float, carried_qps: float
) -> None:
    bench, sender = taking(tmp_path, run_s, most_qps, slo_ms)
    bench.calibrate()
    assert bench.carried_qps == carried_qps
    assert max(sender.loads_qps) < 2.0 * most_qps


def test_a_service_that_carries_next_to_nothing_is_refused(tmp_path: Path) -> None:
    bench, _ = taking(tmp_path, 0.2)
    with pytest.raises(RuntimeError, match=r"'played' does not carry 2\.5 queries/s: more than 5% .* of 100 ms"):
        bench.calibrate()


def test_a_low_load_has_as_many_queries_as_a_step_of_a_higher_one(tmp_path: Path) -> None:
    bench, sender = taking(tmp_path, 0.3, slo_ms=3000.0)
    bench.calibrate()
    assert sender.loads_qps[-1] == pytest.approx(2.5, rel=0.5)


def test_the_client_waits_for_longer_than_the_objective() -> None:
    assert client_timeout_s(150.0) == 10.0
    assert client_timeout_s(12_000.0) == 24.0
