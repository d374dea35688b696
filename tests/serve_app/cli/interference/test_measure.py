"""With real variants of the zoo, for as short as may be."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from catalog.machine_type import machine_type
from measuring_scene import measure_quickly
from predictor.measure.campaign import Campaign, CampaignReport
from predictor.measure.choice import Variants
from predictor.measurements import read_measurements
from predictor.variant_table import read_variants
from serve_app.cli.interference import active
from serve_app.cli.main import app

pytestmark = pytest.mark.usefixtures("quickly")

TWO = ("--variant", "digits-mlp", "--variant", "digits-cnn-s")


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    measure_quickly(monkeypatch)


def measure(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["interference", "measure", *arguments])


def test_two_variants_are_measured_and_a_second_call_goes_on(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.json"
    chosen.write_text(json.dumps([["digits-cnn-s", "digits-mlp"], ["digits-mlp", "digits-mlp", "digits-cnn-s"]]))
    arguments = ("--out", str(tmp_path / "out"), *TWO, "--only", str(chosen), "--json")
    result = measure(*arguments)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert (printed["measured"], printed["kept"], printed["left"]) == (2, 0, 0)
    assert printed["machine"] == machine_type("cpu", len(os.sched_getaffinity(0)))
    measurements = read_measurements(Path(printed["measurements"]))
    assert [sorted(run.configuration.variants) for run in measurements] == [
        ["digits-cnn-s", "digits-mlp"],
        ["digits-cnn-s", "digits-mlp", "digits-mlp"],
    ]
    table = read_variants(tmp_path / "out" / "variants.parquet")
    assert {variant for _, variant in table.hardware} == {"digits-mlp", "digits-cnn-s"}
    assert table.architecture["digits-cnn-s"]["arch_conv_nodes"] == 3
    again = json.loads(measure(*arguments).stdout)
    assert (again["measured"], again["kept"], again["left"]) == (0, 2, 0)


def test_pinned_variants_are_another_machine_type(tmp_path: Path) -> None:
    cpu = str(max(os.sched_getaffinity(0)))
    result = measure(
        *("--out", str(tmp_path), *TWO, "--cpus", cpu, "--degree", "2", "--configurations", "1", "--repeats", "0"),
    )
    assert result.exit_code == 0, result.output
    assert "1 configurations measured" in result.stdout
    rows = pd.read_parquet(tmp_path / "measurements.parquet")
    assert set(rows["machine"]) == {machine_type("cpu", 1)}


def test_a_machine_may_be_named(tmp_path: Path) -> None:
    result = measure("--out", str(tmp_path), *TWO, "--machine", "mine", "--budget-s", "1", "--json", "--repeats", "0",
                     "--configurations", "2")  # fmt: skip
    assert json.loads(result.stdout)["machine"] == "mine"


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many configurations were to be measured, or at most, where they are chosen while measuring; nothing is."""
    asked: list[int] = []
    report = CampaignReport(measured=0, kept=0, left=0, disturbed=0, seconds=0.0, noise=None, spread=None)

    def run(_: Campaign, chosen: Sequence[Variants], *__: object) -> CampaignReport:
        asked.append(len(chosen))
        return report

    def until(_: Campaign, __: str, ___: int, stop: active.Stop, *____: object) -> tuple[CampaignReport, float]:
        asked.append(stop.configurations)
        return report, 0.5

    monkeypatch.setattr(Campaign, "run", run)
    monkeypatch.setattr(active, "measure_until", until)
    return asked


@pytest.mark.parametrize(
    ("arguments", "number"),
    [(("10",), 20), (("20",), 35), (("20", "--repeats", "1"), 21), (("10", "--until-error", "0.03"), 10)],
)
def test_the_noise_is_known_from_fifteen_repeats_or_from_all_of_fewer(
    tmp_path: Path, wanted: list[int], arguments: tuple[str, ...], number: int
) -> None:
    result = measure("--out", str(tmp_path), "--configurations", *arguments, "--json")
    assert result.exit_code == 0, result.output
    assert wanted == [number]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--variant", "digits-xl"), "no variant 'digits-xl' to measure; the catalogues have digits-cnn-l"),
        (("--cpus", "4096"), "--cpus '4096' cannot be used here; give some of "),
        (("--cpus", "first"), "--cpus 'first' is no list of CPUs"),
        (("--device", "tpu"), "device 'tpu' is unknown"),
        (("--only", "gone.json"), "cannot read configurations gone.json"),
        (("--configurations", "100000"), "100000 configurations with 15 repeats cannot be drawn"),
        (("--configurations", "10", "--repeats", "11"), "10 configurations with 11 repeats cannot be drawn"),
        (("--catalogue", "gone.yaml"), "cannot read catalogue gone.yaml"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = measure("--out", str(tmp_path / "out"), *arguments, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"].startswith(message)
    assert not (tmp_path / "out" / "measurements.parquet").exists()


def _interruptible() -> None:
    """What a shell starts in the background ignores interrupts, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_leaves_files_that_the_next_call_goes_on_with(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "serve_app.cli.main", "interference", "measure", "--out", str(tmp_path), *TWO]
    drawn = ("--degree", "4", "--configurations", "12", "--repeats", "0")
    with subprocess.Popen([*command, *drawn, "--budget-s", "60"], preexec_fn=_interruptible) as running:
        deadline_s = time.monotonic() + 60
        while not (tmp_path / "measurements.parquet").exists() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        try:
            assert running.wait(60) == 130
        finally:
            running.kill()
    before = len(read_measurements(tmp_path / "measurements.parquet"))
    assert before >= 1
    printed = json.loads(measure("--out", str(tmp_path), *TWO, *drawn, "--json").stdout)
    assert (printed["kept"], printed["measured"]) == (before, 12 - before)
