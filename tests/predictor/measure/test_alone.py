from pathlib import Path

import pytest

from catalog.errors import ConfigError
from measuring_scene import ToyPrograms
from predictor.measure import memory_traffic
from predictor.measure.alone import measure_alone
from predictor.measure.gpu import GpuProbe
from predictor.measure.memory_traffic import estimated_bytes, memory_bytes
from predictor.measure.program import MeasuredVariant


@pytest.fixture
def programs(tmp_path: Path) -> ToyPrograms:
    return ToyPrograms(tmp_path / "diary")


def test_rows_are_the_smallest_power_of_two_whose_batch_takes_long_enough(programs: ToyPrograms) -> None:
    """At 0.4 ms a row, eight rows take more than 2 ms in any case."""
    metrics = measure_alone(programs, MeasuredVariant("sleeps", 64))
    assert metrics["hw_rows"] in (1, 2, 4, 8)
    assert metrics["hw_latency_ms"] >= 0.4 * metrics["hw_rows"]
    assert metrics["hw_voluntary_switches_per_s"] > 0


def test_rows_are_no_more_than_the_variant_may_have(programs: ToyPrograms) -> None:
    assert measure_alone(programs, MeasuredVariant("computes", 3))["hw_rows"] <= 3
    assert measure_alone(programs, MeasuredVariant("sleeps", 64), rows=16)["hw_rows"] == 16


def test_memory_has_the_batches_in_it_where_their_rows_are_still_to_be_found(programs: ToyPrograms) -> None:
    variant = MeasuredVariant("hoards", 64)
    first = measure_alone(programs, variant)
    again = measure_alone(programs, variant, rows=int(first["hw_rows"]))
    assert first["hw_rows"] > 1
    for metrics in (first, again):
        assert metrics["hw_resident_bytes"] > metrics["hw_rows"] * 2**20


def test_metrics_tell_what_the_variant_asks_of_the_machine(
    programs: ToyPrograms, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory_traffic, "_RESCTRL", tmp_path)
    known = {"arch_parameter_bytes": 1000.0, "arch_activation_bytes_per_row": 10.0}
    metrics = measure_alone(programs, MeasuredVariant("computes", 64, known))
    sleeping = measure_alone(programs, MeasuredVariant("sleeps", 64))
    assert 0 < sleeping["hw_cpu_utilisation"] < metrics["hw_cpu_utilisation"] <= 1.01
    assert metrics["hw_resident_bytes"] >= 0
    assert metrics["hw_memory_is_estimate"] == 1
    in_a_batch = metrics["hw_memory_bytes_per_s"] * metrics["hw_latency_ms"] / 1e3
    assert in_a_batch == pytest.approx(1000 + 2 * 10 * metrics["hw_rows"])
    assert 0 <= metrics["others_frac"] <= 1


def test_traffic_is_that_of_all_memory_controllers_where_the_machine_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_traffic, "_RESCTRL", tmp_path)
    assert memory_bytes() is None
    for domain, count in (("mon_L3_00", "1000\n"), ("mon_L3_01", "23\n")):
        (tmp_path / domain).mkdir()
        (tmp_path / domain / "mbm_total_bytes").write_text(count)
    assert memory_bytes() == 1023
    (tmp_path / "mon_L3_01" / "mbm_total_bytes").write_text("Unavailable\n")
    assert memory_bytes() is None


def test_without_a_graph_the_artifact_stands_for_the_weights() -> None:
    assert estimated_bytes(MeasuredVariant("a", 8, {"arch_artifact_bytes": 500.0}), 4) == 500.0
    assert estimated_bytes(MeasuredVariant("a", 8), 4) == 0.0


def test_a_gpu_that_is_not_there_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"GPU 99 cannot be measured: .*; use --device cpu"):
        GpuProbe(99)
