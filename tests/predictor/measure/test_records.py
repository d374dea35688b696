from pathlib import Path

import pandas as pd
import pytest

from catalog.errors import ConfigError
from predictor.measure.co_location import CoLocation
from predictor.measure.positions import Role
from predictor.measure.records import Records, Setting
from predictor.measurements import read_measurements
from predictor.variant_table import read_variants

HERE = Setting("EPYC, 2 CPUs", "onnxruntime 1.23", 1)
A, B = Role("a", 4), Role("b", 64)


def found(*slowdown: float) -> CoLocation:
    alone_s = tuple(0.002 * (index + 1) for index in range(len(slowdown)))
    together_s = tuple(each * factor for each, factor in zip(alone_s, slowdown, strict=True))
    return CoLocation(alone_s, together_s, (0.01,) * len(slowdown), 0.02, 7, 3.5)


def test_what_was_measured_is_read_as_it_was(tmp_path: Path) -> None:
    records = Records(tmp_path, HERE)
    records.add([A, B], found(1.5, 1.25))
    records.add([B, B, A], found(2.0, 2.1, 2.2))
    first, second = read_measurements(tmp_path / "measurements.parquet")
    assert first.configuration == (HERE.machine, ("a", "b"))
    assert first.alone_ms == pytest.approx((2.0, 4.0))
    assert first.slowdown == pytest.approx((1.5, 1.25))
    assert second.configuration.variants == ("b", "b", "a")
    rows = pd.read_parquet(tmp_path / "measurements.parquet")
    assert rows["rows"].tolist() == [4, 64, 64, 64, 4]
    assert set(rows["slowdown_error"]) == {0.01}
    assert set(rows["versions"]) == {"onnxruntime 1.23"}
    assert rows["measured_at"].str.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00").all()


def test_records_go_on_where_they_were(tmp_path: Path) -> None:
    Records(tmp_path, HERE).add([B, A], found(1.5, 1.25))
    records = Records(tmp_path, HERE)
    assert records.done() == {("a", "b"): 1}
    records.add([A, B], found(1.4, 1.2))
    assert Records(tmp_path, HERE).done() == {("a", "b"): 2}
    measurements = read_measurements(records.measurements)
    assert len(measurements) == 2
    assert len(measurements.repeats) == 1


def test_a_measurement_may_stand_in_place_of_another_of_the_same_configuration(tmp_path: Path) -> None:
    records = Records(tmp_path, HERE)
    records.add([A, B], found(1.5, 1.25)._replace(others_frac=0.4))
    records.add([A, B], found(1.6, 1.5))
    first, second = records.others_frac()
    assert records.others_frac() == {first: (("a", "b"), 0.4), second: (("a", "b"), 0.02)}
    records.add([A, B], found(1.7, 1.75), instead_of=first)
    assert Records(tmp_path, HERE).others_frac() == {first: (("a", "b"), 0.02), second: (("a", "b"), 0.02)}
    (runs,) = read_measurements(records.measurements).repeats.values()
    assert sorted(round(run.slowdown[0], 6) for run in runs) == [1.6, 1.7]


@pytest.mark.parametrize(
    "other", [HERE._replace(machine="GPU"), HERE._replace(versions="onnxruntime 2"), HERE._replace(threads=2)]
)
def test_another_machine_runtime_or_number_of_threads_begins_anew_and_keeps_what_there_is(
    tmp_path: Path, other: Setting
) -> None:
    before = Records(tmp_path, HERE)
    before.add([A], found(1.0))
    before.add_metrics("a", {"hw_rows": 4.0})
    records = Records(tmp_path, other)
    assert records.done() == {}
    assert records.metrics("a") is None
    assert records.own() is None
    records.add([A], found(1.1))
    own = records.own()
    assert own is not None
    assert own.slowdown.tolist() == pytest.approx([1.1])
    assert len(read_measurements(records.measurements, of_one_setting=False)) == 2
    assert Records(tmp_path, HERE).done() == {("a",): 1}


def test_metrics_of_a_variant_are_read_as_they_were_and_the_newest_count(tmp_path: Path) -> None:
    records = Records(tmp_path, HERE)
    records.add_metrics("a", {"hw_rows": 4.0, "hw_latency_ms": 2.5, "arch_nodes": 12.0})
    records.add_metrics("b", {"hw_rows": 64.0})
    Records(tmp_path, HERE).add_metrics("a", {"hw_rows": 8.0, "arch_nodes": 12.0})
    table = read_variants(tmp_path / "variants.parquet")
    assert table.hardware == {(HERE.machine, "a"): {"hw_rows": 8.0}, (HERE.machine, "b"): {"hw_rows": 64.0}}
    assert table.architecture == {"a": {"arch_nodes": 12.0}, "b": {}}
    kept = Records(tmp_path, HERE).metrics("a")
    assert kept is not None
    assert kept["hw_rows"] == 8


def test_nothing_but_the_two_files_is_left_in_the_folder(tmp_path: Path) -> None:
    records = Records(tmp_path / "new" / "folder", HERE)
    records.add([A], found(1.0))
    records.add_metrics("a", {"hw_rows": 4.0})
    names = sorted(file.name for file in (tmp_path / "new" / "folder").iterdir())
    assert names == ["measurements.parquet", "variants.parquet"]


def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "measurements.parquet"
    file.write_bytes(b"something else")
    with pytest.raises(ConfigError, match="cannot read measurements"):
        Records(tmp_path, HERE)
    assert file.read_bytes() == b"something else"


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot write to"):
        Records(tmp_path / "file" / "folder", HERE)


def test_files_of_two_machines_of_one_type_may_be_joined(tmp_path: Path) -> None:
    files = []
    for machine, slowdown in (("one", 1.5), ("other", 1.4)):
        records = Records(tmp_path / machine, HERE)
        records.add([A, B], found(slowdown, 1.2))
        files.append(pd.read_parquet(records.measurements))
    pd.concat(files).to_csv(tmp_path / "joined.csv", index=False)
    joined = read_measurements(tmp_path / "joined.csv")
    assert [run.configuration.variants for run in joined] == [("a", "b"), ("a", "b")]
    assert len(joined.repeats) == 1


def test_joined_files_whose_names_stand_for_different_runs_are_refused(tmp_path: Path) -> None:
    records = Records(tmp_path, HERE)
    records.add([A, B], found(1.5, 1.2))
    table = pd.read_parquet(records.measurements)
    pd.concat([table, table.assign(measured_at="2026-01-01T00:00:00+00:00")]).to_csv(tmp_path / "j.csv", index=False)
    with pytest.raises(ConfigError, match=r"configuration '.*' was measured at 2026-01-01 .* and at .* other names"):
        read_measurements(tmp_path / "j.csv")


def test_runs_with_other_threads_are_no_repeats(tmp_path: Path) -> None:
    Records(tmp_path, HERE).add([A, B], found(1.1, 1.1))
    records = Records(tmp_path, HERE._replace(threads=2))
    records.add([A, B], found(2.0, 2.0))
    with pytest.raises(ConfigError, match="machine type 'EPYC, 2 CPUs' with 1, 2 threads, which are no repeats"):
        read_measurements(records.measurements)
    own = records.own()
    assert own is not None
    assert [run.slowdown for run in own] == [pytest.approx((2.0, 2.0))]
