"""Profiles of many variants on several device types, from files written by hand."""

from pathlib import Path

import pytest

from catalog.errors import ConfigError
from catalog.profiles.profile_table import COLUMNS, group_by_query_type, match_device, read_profile_table

HEADER = "Model,Accel,Trials,batchsize,50th_pct,90th_pct,avg_latency(ms),Min,Max,Accuracy,Normalized_Accuracy"


def write(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "profiles.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def row(model: str, device: str, rows: int, mean_ms: float, trials: str = "100", accuracy: str = "75,90") -> str:
    return f"{model},{device},{trials},{rows},,,{mean_ms},,,{accuracy}"


# -- reading --------------------------------------------------------------------------------------------------


def test_accuracies_and_mean_latencies_are_read_by_variant_and_device(tmp_path: Path) -> None:
    table = read_profile_table(
        write(
            tmp_path,
            row("small", "cpu", 1, 10.0),
            row("small", "gpu", 1, 4.0),
            row("large", "cpu", 1, 40.0, accuracy="83.5,100"),
            row("small", "cpu", 2, 18.0),
        )
    )
    assert list(table) == ["small", "large"]
    assert (table["small"].accuracy_pct, table["small"].normalised_accuracy_pct) == (75.0, 90.0)
    assert (table["large"].accuracy_pct, table["large"].normalised_accuracy_pct) == (83.5, 100.0)
    assert table["small"].latency_s == {"cpu": (0.0, 0.010, 0.018), "gpu": (0.0, 0.004)}


def test_columns_may_be_in_any_order_and_trials_may_be_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path, "90,8,2,cpu,m,75", header="Normalized_Accuracy,avg_latency(ms),batchsize,Accel,Model,Accuracy"
    )
    assert read_profile_table(path)["m"].latency_s["cpu"][2] == 0.008


def test_batches_between_measured_ones_lie_on_the_line_through_them(tmp_path: Path) -> None:
    path = write(tmp_path, *(row("m", "cpu", rows, 5.0 + 2.0 * rows) for rows in (1, 2, 4, 8)))
    expected_s = [(5.0 + 2.0 * rows) / 1e3 for rows in range(1, 9)]
    assert read_profile_table(path)["m"].latency_s["cpu"][1:] == pytest.approx(expected_s)


def test_a_smaller_batch_never_takes_longer_than_a_larger_one(tmp_path: Path) -> None:
    path = write(tmp_path, row("m", "gpu", 1, 9.0), row("m", "gpu", 2, 7.0), row("m", "gpu", 4, 8.0))
    latency_s = read_profile_table(path)["m"].latency_s["gpu"]
    assert latency_s[1:3] == (0.007, 0.007)
    assert list(latency_s) == sorted(latency_s)


@pytest.mark.parametrize(("trials", "mean_ms"), [(("100", "200"), 6.0), (("200", "100"), 5.0), (("100", "100"), 5.0)])
def test_of_doubled_rows_the_one_with_more_trials_counts_or_else_the_first(
    tmp_path: Path, trials: tuple[str, str], mean_ms: float
) -> None:
    path = write(tmp_path, row("m", "cpu", 1, 5.0, trials[0]), row("m", "cpu", 1, 6.0, trials[1]))
    assert read_profile_table(path)["m"].latency_s["cpu"] == (0.0, mean_ms / 1e3)


def test_no_trials_are_fewer_than_any(tmp_path: Path) -> None:
    path = write(tmp_path, row("m", "cpu", 1, 5.0, ""), row("m", "cpu", 1, 6.0, "1"))
    assert read_profile_table(path)["m"].latency_s["cpu"] == (0.0, 0.006)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([], "has no rows"),
        ([row(" ", "cpu", 1, 5.0)], "line 2, column Model: ' '; give a name"),
        ([row("m", "", 1, 5.0)], "line 2, column Accel: ''; give a name"),
        ([row("m", "cpu", 0, 5.0)], "line 2, column batchsize: '0'; give a whole number of at least 1"),
        ([row("m", "cpu", 10**400, 5.0)], "0'; give a whole number of at most 2147483647"),
        ([row("m", "cpu", 1, 0.0)], r"column avg_latency\(ms\): '0.0'; give a number above 0"),
        ([row("m", "cpu", 1, float("nan"))], r"column avg_latency\(ms\): 'nan'"),
        ([row("m", "cpu", 1, 5.0, accuracy="101,90")], "column Accuracy: '101'; give a number above 0, at most 100"),
        ([row("m", "cpu", 1, 5.0, accuracy="75,")], "column Normalized_Accuracy: ''"),
        ([row("m", "cpu", 1, 5.0, trials="some")], "column Trials: 'some'"),
        ([row("m", "cpu", 1, 5.0), row("m", "cpu", 2, 5.0, accuracy="75,91")], "earlier rows of 'm' say 75 and 90"),
        (["m,cpu,100"], "line 2: 'm,cpu,100' has 3 cells; give 11"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_column(tmp_path: Path, rows: list[str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read_profile_table(write(tmp_path, *rows))


@pytest.mark.parametrize("missing", COLUMNS)
def test_a_column_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(ConfigError, match="line 1: no column") as caught:
        read_profile_table(write(tmp_path, header=",".join(column for column in COLUMNS if column != missing)))
    assert missing in str(caught.value).partition(";")[0]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read profile table .*nowhere\.csv"):
        read_profile_table(tmp_path / "nowhere.csv")


# -- devices --------------------------------------------------------------------------------------------------

DEVICES = ("onnx_cpu", "onnx_gpu_ampere", "onnx_gpu_pascal", "tpu")


@pytest.mark.parametrize(
    ("name", "device"),
    [("tpu", "tpu"), ("cpu", "onnx_cpu"), ("gpu_pascal", "onnx_gpu_pascal"), ("ampere", "onnx_gpu_ampere")],
)
def test_a_device_is_known_by_its_name_or_by_its_end(name: str, device: str) -> None:
    assert match_device(name, DEVICES) == device


@pytest.mark.parametrize("name", ["gpu", "pu", "onnx", ""])
def test_an_unknown_device_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=r"there are onnx_cpu, onnx_gpu_ampere, onnx_gpu_pascal, tpu"):
        match_device(name, DEVICES)


def test_a_device_that_could_be_two_is_refused_with_both() -> None:
    with pytest.raises(ConfigError, match="a_cpu, b_cpu all end so"):
        match_device("cpu", ["b_cpu", "a_cpu"])


# -- query types ----------------------------------------------------------------------------------------------


def test_a_variant_is_of_the_longest_type_in_its_name() -> None:
    grouped, without = group_by_query_type(
        ["resnet", "bert", "res", "resnest"], ["resnest14", "ResNet18", "roberta-base", "res-x", "gpt2", "x/bert"]
    )
    assert grouped == {
        "resnet": ("ResNet18",),
        "bert": ("roberta-base", "x/bert"),
        "res": ("res-x",),
        "resnest": ("resnest14",),
    }
    assert without == ("gpt2",)


def test_a_number_in_the_name_of_a_type_is_no_part_of_another() -> None:
    grouped, without = group_by_query_type(["t5", "7b"], ["T5-small", "resnest50", "resnet50_v1", "my-t5", "7b", "17b"])
    assert grouped == {"t5": ("T5-small", "my-t5"), "7b": ("7b",)}
    assert without == ("resnest50", "resnet50_v1", "17b")


def test_types_without_a_variant_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="no variant for query types t5, yolo;"):
        group_by_query_type(["yolo", "bert", "t5"], ["bert-base"])
