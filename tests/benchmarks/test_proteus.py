"""The comparison on small files with names of their own: figures, files, repeatability, and words for what is wrong."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from accuracy_scene import CPU, GPU, by_chance, evenly, write_profiles, write_trace
from benchmarks.proteus import __main__ as proteus
from benchmarks.proteus.systems import BASELINES, SWEPT, SYSTEMS, TUNED

Run = Callable[..., str]
"""Runs the benchmark with arguments and gives what it prints."""

METRICS = [
    "throughput_qps",
    "peak_throughput_qps",
    "effective_accuracy_pct",
    "max_accuracy_drop_pct",
    "slo_violation_ratio",
]
MEASURED = {"seconds", "total_s", "median_solve_s", "max_solve_s", "machine", "multiples"}
"""What is of the machine, and not of the run."""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Two query types and a variant that is of neither."""
    return write_profiles(
        tmp_path / "profiles.csv",
        {
            "some/BERT-tiny": (80.0, {CPU: (0.0, 10.0), GPU: (5.0, 1.0)}),
            "roberta-large": (100.0, {CPU: (0.0, 40.0), GPU: (10.0, 5.0)}),
            "resnest14": (85.0, {CPU: (5.0, 10.0), GPU: (5.0, 1.0)}),
            "resnest50": (100.0, {CPU: (10.0, 40.0), GPU: (10.0, 5.0)}),
            "yolo": (100.0, {CPU: (0.0, 50.0)}),
        },
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A burst of more than the most accurate variants can serve."""
    rng = np.random.default_rng(3)
    loads = {"bert": (20.0, 300.0), "resnest": (10.0, 100.0)}
    arrivals_s = {
        name: [*by_chance(low, 0, 6, rng), *by_chance(high, 6, 14, rng)] for name, (low, high) in loads.items()
    }
    return write_trace(tmp_path / "burst.csv", arrivals_s)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Next to nothing of two query types."""
    return write_trace(tmp_path / "short.csv", {"bert": evenly(20.0, 0.0, 3.0), "resnest": evenly(10.0, 0.0, 3.0)})


@contextmanager
def one_thread() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(proteus, "processes", one_thread)

    def with_arguments(trace: Path, profiles: Path, *arguments: str, cluster: str = "cpu=3,gpu=2") -> str:
        files = ("--trace", str(trace), "--profiles", str(profiles), "--cluster", cluster)
        quick = () if "--seeds" in arguments else ("--seeds", "1", "--headrooms", "1.1")
        monkeypatch.setattr(sys, "argv", ["proteus", *files, *quick, *arguments])
        proteus.main()
        return capsys.readouterr().out

    return with_arguments


def unmeasured(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {key: unmeasured(value) for key, value in body.items() if key not in MEASURED}


def numbers(body: Any) -> list[float]:
    if isinstance(body, dict):
        return [number for value in body.values() for number in numbers(value)]
    return [body] if isinstance(body, float | int) else []


def test_the_last_line_has_every_system_s_metrics_and_the_report_its_files(
    run: Run, trace: Path, profiles: Path, tmp_path: Path
) -> None:
    report = tmp_path / "new" / "report"
    fast = ("--speedup", "1", "--interval-s", "5", "--seeds", "2", "--headrooms", "1,1.5")
    plot = tmp_path / "frontier.png"
    printed = run(trace, profiles, *fast, "--json", "--report", str(report), "--plot", str(plot))
    body = orjson.loads(printed.splitlines()[-1])
    assert body["trace"] == "burst.csv"
    assert body["tuning_trace"] is None
    assert body["queries"] == len(trace.read_text().splitlines()) - 1
    assert (body["speedup"], body["seeds"]) == (1.0, 2)
    assert body["slo_rule"] == "most_accurate"
    assert body["slo_ms"] == pytest.approx({"bert": 30.0, "resnest": 30.0})
    assert body["unused_variants"] == ["yolo"]
    assert list(body["systems"]) == list(SYSTEMS)
    for name, of in body["systems"].items():
        assert list(of)[:5] == METRICS
        assert all(isinstance(of[metric], float) for metric in METRICS)
        assert 0.0 < of["effective_accuracy_pct"] <= 100.0 + 1e-9
        assert 0.0 <= of["slo_violation_ratio"] <= 1.0
        assert 0.0 <= of["median_solve_s"] <= of["max_solve_s"]
        for metric, (least, most) in of["spread"].items():
            assert least <= of[metric] + 1e-9
            assert of[metric] <= most + 1e-9
        headrooms = [point["headroom"] for point in of["frontier"]]
        assert headrooms == (sorted({1.0, 1.5, of["headroom"]}) if name in SWEPT else [of["headroom"]])
        (recorded,) = [point for point in of["frontier"] if point["headroom"] == of["headroom"]]
        for metric in METRICS[2:]:
            least, most = of["spread"][metric]
            assert least <= recorded[metric] <= most
    assert all(map(isfinite, numbers(body)))
    assert set(body["seconds"]) == set(SYSTEMS)
    assert [body["systems"][name]["plans"] for name in ("clipper_ha", "clipper_ht")] == [0, 0]
    assert all(body["systems"][name]["plans"] > 0 for name in ("proteus", "sommelier", "infaas_accuracy"))
    groups = ("systems", "as_described", "ablations")
    assert {path.name for path in report.iterdir()} == {"report.json", *(f"{group}.png" for group in groups)}
    for picture in (plot, *(report / f"{group}.png" for group in groups)):
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert orjson.loads((report / "report.json").read_bytes()) == body

    ours, ratios = body["systems"]["proteus"], body["ratios"]
    for ratio, metric in (("accuracy_drop", "max_accuracy_drop_pct"), ("violations", "slo_violation_ratio")):
        assert ratios[ratio] == {
            name: body["systems"][name][metric] / ours[metric] if ours[metric] else None for name in BASELINES
        }
    at_peak = ours["peak_throughput_qps"] / body["systems"]["clipper_ha"]["peak_throughput_qps"]
    assert ratios["peak_throughput_over_clipper_ha"] == at_peak
    assert body["goals"].keys() == set(BASELINES)
    assert body["goals_met"] == all(body["goals"].values())

    again = orjson.loads(run(trace, profiles, *fast, "--json"))
    assert unmeasured(again) == unmeasured(body)


def test_headrooms_of_baselines_are_chosen_on_another_trace(run: Run, trace: Path, short: Path, profiles: Path) -> None:
    given = ("--speedup", "1", "--seeds", "1", "--headrooms", "1,2", "--json", "--tuning-trace")
    body = orjson.loads(run(short, profiles, *given, str(trace)))
    assert body["tuning_trace"] == "burst.csv"
    assert all(body["systems"][name]["headroom"] in (1.0, 2.0) for name in TUNED)
    assert body["systems"]["sommelier_as_described"]["headroom"] == 1.1


def test_a_tuning_trace_has_the_same_types(run: Run, trace: Path, profiles: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other.csv", {"bert": [1.0, 2.0]})
    with pytest.raises(SystemExit, match=r"other\.csv has query types bert, and .*; give a tuning trace of the same"):
        run(trace, profiles, "--speedup", "1", "--tuning-trace", str(other))


def test_without_json_there_is_a_table(run: Run, short: Path, profiles: Path) -> None:
    text = run(short, profiles, "--speedup", "2", "--slo-rule", "cpu", "--slo-multiple", "8")
    assert "short.csv, 2.00 times as fast" in text
    rows = [line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│")]
    assert [cells[0].strip() for cells in rows] == list(SYSTEMS)
    for _, *cells in rows:
        headroom, throughput, _, accuracy_pct, drop_pct, violated_pct = map(float, cells)
        assert headroom >= 1
        assert throughput > 0
        assert accuracy_pct >= 80.0
        assert 0.0 <= drop_pct <= 20.0
        assert 0.0 <= violated_pct <= 100.0


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """One variant, 10 ms a row: a worker serves 100 queries/s in batches of any size."""
    return write_profiles(tmp_path / "one.csv", {"bert": (100.0, {CPU: (0.0, 10.0)})})


def test_unless_told_otherwise_the_busiest_ten_seconds_are_at_half_of_what_can_be_served(
    run: Run, one: Path, tmp_path: Path
) -> None:
    steady = write_trace(tmp_path / "steady.csv", {"bert": evenly(25.0, 0.0, 260.0)})
    body = orjson.loads(run(steady, one, "--json", cluster="cpu=2"))
    assert body["speedup"] == pytest.approx(0.5 * 2 * 100.0 / 25.0, rel=2e-3)
    assert body["peak_qps"] == pytest.approx(0.5 * 2 * 100.0, rel=5e-3)
    for name in SYSTEMS:
        if name != "sommelier_as_described":  # and so it is more than its first placement has workers for, or just not
            assert body["systems"][name]["slo_violation_ratio"] < 0.1


def test_a_trace_that_is_too_fast_is_slowed_down(run: Run, one: Path, tmp_path: Path) -> None:
    fast = write_trace(tmp_path / "fast.csv", {"bert": [*evenly(50.0, 0.0, 10.0), *evenly(400.0, 10.0, 15.0)]})
    body = orjson.loads(run(fast, one, "--json", cluster="cpu=1"))
    assert body["speedup"] == pytest.approx(0.5 * 100.0 / (400.0 * 5.0 / 10.0), rel=5e-3)


def test_accuracy_is_whole_and_nothing_is_late_where_there_is_only_one_variant_and_time(
    run: Run, one: Path, tmp_path: Path
) -> None:
    slow = write_trace(tmp_path / "slow.csv", {"bert": evenly(5.0, 0.0, 12.0)})
    body = orjson.loads(run(slow, one, "--json", "--speedup", "1", "--interval-s", "5", cluster="cpu=2"))
    plans = {name: body["systems"][name]["plans"] for name in SWEPT}
    at_intervals = dict.fromkeys(("proteus", "literal", "sommelier"), 2)  # at 5 and 10 s; INFaaS at 1, 2, ... 11 s
    assert plans == {**at_intervals, "clipper_ha": 0, "clipper_ht": 0, "infaas_accuracy": 11}
    for of in body["systems"].values():
        assert {metric: of[metric] for metric in METRICS} == {
            "throughput_qps": pytest.approx(60 / 11.8),
            "peak_throughput_qps": 5.0,
            "effective_accuracy_pct": 100.0,
            "max_accuracy_drop_pct": 0.0,
            "slo_violation_ratio": 0.0,
        }
    assert body["ratios"] == {
        "accuracy_drop": dict.fromkeys(BASELINES),
        "violations": dict.fromkeys(BASELINES),
        "peak_throughput_over_clipper_ha": 1.0,
    }
    assert not body["goals_met"], "nobody is better than the others"


def test_objectives_may_be_given(run: Run, short: Path, profiles: Path) -> None:
    few = ("--json", "--speedup", "1")
    body = orjson.loads(run(short, profiles, *few, "--slo-ms", "bert=150"))
    assert body["slo_ms"] == pytest.approx({"bert": 150.0, "resnest": 30.0})
    body = orjson.loads(run(short, profiles, *few, "--slo-rule", "cpu", "--slo-multiple", "4"))
    assert body["slo_ms"] == pytest.approx({"bert": 40.0, "resnest": 60.0})
    assert body["slo_rule"] == "cpu"


def test_files_and_names_that_cannot_be_used_are_refused_in_words(
    run: Run, trace: Path, profiles: Path, tmp_path: Path
) -> None:
    none = tmp_path / "none.csv"
    with pytest.raises(SystemExit, match=r"cannot read trace .*none\.csv: .*give a CSV file"):
        run(none, profiles)
    with pytest.raises(SystemExit, match=r"cannot read profile table .*none\.csv: No such file.*give the path"):
        run(trace, none)
    with pytest.raises(SystemExit, match="unknown device 'tpu': there are ort_cpu, ort_gpu; give one of them"):
        run(trace, profiles, cluster="cpu=3,tpu=1")
    with pytest.raises(SystemExit, match="objectives for t5; query types are bert, resnest"):
        run(trace, profiles, "--slo-ms", "t5=600,bert=100")
    types = write_trace(tmp_path / "types.csv", {"bert": [1.0], "gpt2": [2.0], "dense": [3.0]})
    with pytest.raises(SystemExit, match="no variant for query types dense, gpt2; add variants"):
        run(types, profiles)
    (tmp_path / "untyped.csv").write_text("arrival_ms\n1\n2\n")
    with pytest.raises(SystemExit, match=r"untyped\.csv has columns arrival_ms; give .* query_type"):
        run(tmp_path / "untyped.csv", profiles)
    with pytest.raises(SystemExit, match=r"cannot make a folder of .*profiles\.csv: File exists; name another"):
        run(trace, profiles, "--speedup", "1", "--report", str(profiles))


def test_a_cluster_that_cannot_serve_all_types_needs_a_speed_up_to_be_given(
    run: Run, short: Path, profiles: Path
) -> None:
    with pytest.raises(SystemExit, match=r"no placement on 1 workers serves all of bert, resnest .* or --speedup"):
        run(short, profiles, cluster="cpu=1")
    body = orjson.loads(run(short, profiles, "--json", "--speedup", "1", cluster="cpu=1"))
    assert body["systems"]["clipper_ht"]["throughput_qps"] > 0.0
    with pytest.raises(SystemExit, match="no placement on 5 workers serves all of bert, resnest"):
        run(short, profiles, "--slo-ms", "bert=1")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--cluster", "nonsense", "'nonsense' is not NAME=NUMBER,NAME=NUMBER"),
        ("--cluster", "cpu=2,", "'cpu=2,' is not NAME=NUMBER,NAME=NUMBER"),
        ("--cluster", "cpu=2,gpu=1.5", "'cpu=2,gpu=1.5' has numbers that are not whole"),
        ("--cluster", "cpu=0", "'0' is no number above 0"),
        ("--cluster", "cpu=many", "'many' is no number above 0"),
        ("--cluster", "cpu=1,gpu=2,cpu=3", "'cpu=1,gpu=2,cpu=3' has a name twice; give it once"),
        ("--slo-ms", "bert=-5", "'-5' is no number above 0"),
        ("--slo-ms", "bert", "'bert' is not NAME=NUMBER,NAME=NUMBER"),
        ("--slo-multiple", "0", "'0' is no number above 0"),
        ("--slo-rule", "gpu", "invalid choice: 'gpu'"),
        ("--seeds", "1.5", "'1.5' is no whole number"),
        ("--headrooms", "0.9,1", "'0.9,1' has a number below 1"),
        ("--speedup", "inf", "'inf' is no number above 0"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_in_words(
    run: Run, trace: Path, profiles: Path, option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(trace, profiles, option, value)
    assert f"argument {option}: {words}" in capsys.readouterr().err
