import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import slowdown_scene as scene
from predictor.examples import examples_of
from predictor.measurements import read_measurements
from predictor.model_file import load
from predictor.models.trees import Trees
from predictor.scores import repeat_noise
from serve_app.cli.main import app


def accord(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["interference", *map(str, arguments)])


@pytest.fixture(scope="module")
def forest(files: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    measurements, variants = files
    out: Path = tmp_path_factory.mktemp("models") / "forest.safetensors"
    trained = accord(
        *("train", "--measurements", measurements, "--variants", variants, "--kind", "forest", "--out", out)
    )
    assert trained.exit_code == 0, trained.output
    return out


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same variants, on a machine type more; some repeats."""
    measured = scene.measured(["small", "large"], triples=6, noise=0.02, repeats=4, seed=1)
    path, _ = scene.write_files(tmp_path_factory.mktemp("unseen"), measured, scene.table())
    return path


def test_errors_stand_beside_those_of_the_mean_and_of_another_measurement(
    forest: Path, unseen: str, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.png"
    result = accord("evaluate", "--model", forest, "--measurements", unseen, "--plot", plot, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    read = read_measurements(Path(unseen))
    truth = examples_of(read)
    off = np.abs(load(forest).predictor.slowdowns(truth.configurations) - truth.slowdown)
    assert printed == {
        "models": [
            {"file": str(forest), "kind": "forest", "mae": pytest.approx(off.mean()), "unknown_machines": ["large"]}
        ],
        "noise_mae": pytest.approx(repeat_noise(read)),
        "mean_mae": pytest.approx(np.abs(truth.slowdown - truth.slowdown.mean()).mean()),
        "spread": pytest.approx(truth.slowdown.std()),
        "configurations": len(read.repeats),
        "plot": str(plot),
    }
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_without_a_plot_no_deviations_are_asked_for(
    forest: Path, unseen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("evaluate", "--model", forest, "--measurements", unseen, "--json")
    drawn = json.loads(accord(*given, "--plot", tmp_path / "plot.png").stdout)
    monkeypatch.setattr(Trees, "predict", None)
    assert json.loads(accord(*given).stdout) == {**drawn, "plot": None}


def test_several_predictors_are_compared_also_when_their_files_have_one_name(
    forest: Path, unseen: str, tmp_path: Path
) -> None:
    other = tmp_path / "forest.safetensors"
    other.write_bytes(forest.read_bytes())
    plot = tmp_path / "plot.svg"
    result = accord("evaluate", "--model", forest, "--model", other, "--measurements", unseen, "--plot", plot)
    assert result.exit_code == 0, result.output
    for part in ("the mean of all", "another measurement", "large", f"Drawn in {plot}"):
        assert part in result.stdout
    words = plot.read_text()
    assert words.count("mean absolute error") == 2
    assert "middle" not in words


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--plot", "plot.jpeg"), 2, "--plot plot.jpeg; give a file that ends in .png, .svg, .pdf"),
        (("--plot", "no/such/folder/plot.png"), 2, "there is no folder no/such/folder; make it, or give another path"),
        (("--measurements", "none.csv"), 2, "cannot read measurements none.csv"),
        (("--model", "none.safetensors"), 1, "cannot read the interference predictor none.safetensors"),
    ],
)
def test_what_is_given_wrongly_is_said(
    forest: Path, unseen: str, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    result = accord("evaluate", "--model", forest, "--measurements", unseen, "--json", *arguments)
    assert result.exit_code == code
    assert complaint in json.loads(result.stdout)["error"]


def test_a_plot_that_cannot_be_written_is_said(forest: Path, unseen: str, tmp_path: Path) -> None:
    (tmp_path / "plot.png").mkdir()
    result = accord("evaluate", "--model", forest, "--measurements", unseen, "--plot", tmp_path / "plot.png", "--json")
    assert result.exit_code == 2
    assert "cannot write --plot" in json.loads(result.stdout)["error"]
