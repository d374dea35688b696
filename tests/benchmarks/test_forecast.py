import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


def write(file: Path, days: float) -> Path:
    at_s = np.arange(int(days * 86_400))
    loads = np.random.default_rng(1).poisson(60 + 30 * np.sin(2 * np.pi * at_s / 3600))
    loads[(at_s > 40_000) & (at_s < 41_000)] = 0
    file.write_text("requests_per_s\n" + "\n".join(map(str, loads)) + "\n")
    return file


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.forecast", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.parametrize(("task", "models"), [("ipa", "linear,ewma"), ("cocktail", "linear,moving_average,ewma")])
def test_figures_of_any_series_are_printed_as_json(tmp_path: Path, task: str, models: str) -> None:
    file = write(tmp_path / "load.csv", 1.5)
    done = run("--series", str(file), "--task", task, "--train-days", "1", "--models", models, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert list(figures["models"]) == models.split(",")
    for of_model in figures["models"].values():
        assert 0 < of_model["smape_pct"] < 100
        assert of_model["predict_ms"] > 0
        assert 70 < of_model["coverage_90_pct"] <= 100
    assert figures["models"]["linear"]["rmse"] < figures["models"]["ewma"]["rmse"], "a swing is no random walk"
    assert figures["trained_until_day"] == 1
    if task == "cocktail":
        assert figures["order"][-1] != "linear"
        assert figures["mean_qps"] == pytest.approx(50, rel=0.1)


def test_networks_too_learn_from_the_first_days(tmp_path: Path) -> None:
    file = write(tmp_path / "load.csv", 0.5)
    done = run("--series", str(file), "--train-days", "0.3", "--models", "lstm,linear", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["best_network_smape_pct"] == figures["models"]["lstm"]["smape_pct"]
    assert figures["models"]["lstm"]["rmse"] < 1.5 * figures["models"]["linear"]["rmse"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train-days", "9"], "does not fit a series of 1.50 days"),
        (["--train-days", "1", "--test-from-day", "0.5"], "learn first, score later"),
        (["--models", "oracle"], "forecaster 'oracle' is not known"),
        (["--series", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run("--series", str(write(tmp_path / "load.csv", 1.5)), *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
