from pathlib import Path

import pandas as pd
import pytest

from catalog.errors import ConfigError
from predictor.variant_table import VariantTable, read_variants


def written(folder: Path, *lines: str) -> Path:
    path = folder / "variants.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_metrics_are_by_machine_or_of_the_variant_and_empty_cells_are_unknown(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "variant,machine,hw_util,hw_bus,arch_flops,note",
        "a,m,0.5,,100,x",
        "a,n,0.25,3,,y",
        "b,m,,,,z",
    )
    table = read_variants(path)
    assert table.hardware == {
        ("m", "a"): {"hw_util": 0.5},
        ("n", "a"): {"hw_util": 0.25, "hw_bus": 3.0},
        ("m", "b"): {},
    }
    assert table.architecture == {"a": {"arch_flops": 100.0}, "b": {}}
    assert table.hardware_columns == ("hw_bus", "hw_util")
    assert table.architecture_columns == ("arch_flops",)


def test_parquet_with_missing_integers_is_read(tmp_path: Path) -> None:
    path = tmp_path / "variants.parquet"
    pd.DataFrame(
        {"variant": [1, 2], "machine": ["m", "m"], "arch_nodes": pd.array([3, None], dtype="Int64")}
    ).to_parquet(path)
    assert read_variants(path) == VariantTable({("m", "1"): {}, ("m", "2"): {}}, {"1": {"arch_nodes": 3.0}, "2": {}})


def test_without_metrics_the_variants_are_known_all_the_same(tmp_path: Path) -> None:
    table = read_variants(written(tmp_path, "variant,machine", "a,m"))
    assert (table.hardware_columns, table.architecture_columns) == ((), ())
    assert table.architecture == {"a": {}}


def test_of_several_rows_the_last_with_a_metric_counts(tmp_path: Path) -> None:
    table = read_variants(written(tmp_path, "variant,machine,hw_x,hw_y", "a,m,1,5", "a,m,2,"))
    assert table.hardware["m", "a"] == {"hw_x": 2.0, "hw_y": 5.0}


@pytest.mark.parametrize(("cell", "shown"), [("much", "'much'"), ("inf", "inf"), ("-inf", "-inf")])
def test_a_metric_that_is_no_finite_number_is_refused(tmp_path: Path, cell: str, shown: str) -> None:
    path = written(tmp_path, "variant,machine,hw_util", "a,m,0.5", f"b,m,{cell}")
    with pytest.raises(ConfigError) as raised:
        read_variants(path)
    assert str(raised.value) == f"{path}: hw_util is {shown} in row 2; give a finite number, or leave it empty"


def test_a_metric_that_sums_and_squares_of_would_not_be_finite_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "variant,machine,arch_size", "a,m,1", "b,m,-1e300")
    with pytest.raises(ConfigError) as raised:
        read_variants(path)
    assert str(raised.value) == f"{path}: arch_size is -1e+300 in row 2; give a number from -1e+30 to 1e+30"


def test_missing_columns_are_named_with_those_that_are_wanted(tmp_path: Path) -> None:
    path = written(tmp_path, "name,hw_util", "a,0.5")
    with pytest.raises(ConfigError) as raised:
        read_variants(path)
    assert str(raised.value) == (
        f"{path} has no column variant, machine; variants have the columns variant, machine, hw_*, arch_*"
    )


def test_an_empty_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="machine is empty in row 2; give a name"):
        read_variants(written(tmp_path, "variant,machine,hw_util", "a,m,1", "b,,2"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read variants .*none.csv: .*; give a Parquet or a CSV file"):
        read_variants(tmp_path / "none.csv")
