"""All of it on small files, with fewer draws and shorter training than the benchmark has."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

import slowdown_scene as scene
from benchmarks.interference import __main__ as interference
from benchmarks.interference import accuracy, learning_curves, placement_study
from predictor import training
from predictor.kinds import FOREST
from predictor.models import gaussian_process_fit
from predictor.training import GAUSSIAN_PROCESS

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(gaussian_process_fit, "STEPS", 20)
    monkeypatch.setattr(learning_curves, "DRAWS", 1)
    monkeypatch.setattr(placement_study, "FOLDS", 2)
    monkeypatch.setattr(training, "FOLDS", 2)
    kinds = (GAUSSIAN_PROCESS, FOREST)
    monkeypatch.setattr(accuracy, "KINDS", kinds)
    monkeypatch.setitem(training.train.__kwdefaults__, "kinds", kinds)

    def with_arguments(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["interference", *arguments])
        interference.main()
        return capsys.readouterr().out

    return with_arguments


def files(folder: Path, machines: list[str], triples: int) -> tuple[str, ...]:
    measured = scene.measured(machines, triples=triples, noise=0.01, repeats=4)
    measurements, variants = scene.write_files(folder, measured, scene.table(machines))
    return ("--measurements", measurements, "--variants", variants)


def check(body: dict[str, Any]) -> None:
    """What is said of any measurements."""
    assert body["unified_mae"] < body["mean_mae"] / 2
    assert 0 < body["noise_mae"] < 0.05
    assert body["spread"] > 0
    assert body["separate_mae"] > 0
    assert set(body["by_metrics"]) == {"hardware", "architecture", "both"}
    assert set(body["by_metrics"]["both"]) == {GAUSSIAN_PROCESS, FOREST}
    placement = body["placement"]
    assert placement["oracle"] <= placement["interference_aware"]
    assert placement["oracle"] <= placement["least_loaded"]
    assert body["active_saving_pct"] == body["learning_curves"]["saving_pct"]
    assert body["goals_met"] == all(body["goals"].values())
    assert len(body["goals"]) == 5
    assert body["training_configurations"] + body["test_configurations"] == body["configurations"]


def test_three_machine_types_give_all_figures(run: Run, tmp_path: Path) -> None:
    body = orjson.loads(run(*files(tmp_path, list(scene.MACHINES), 5), "--json"))
    check(body)
    assert body["machines"] == sorted(scene.MACHINES)
    assert body["configurations"] == 3 * (28 + 5)
    assert set(body["machine_types"]) >= {"gaussian_process", "forest", "forest_without_probes"}
    for name in ("gaussian_process", "forest", "forest_without_probes"):
        own = body["machine_types"][name]
        assert own["lower_pct"] == pytest.approx(100 * (1 - own["learned_mae"] / own["one_hot_mae"]))


def test_one_machine_type_gives_all_but_encodings_also_as_yaml(run: Run, tmp_path: Path) -> None:
    body = yaml.safe_load(run(*files(tmp_path, ["small"], 6)))
    check(body)
    assert body["machine_types"] is None


@pytest.mark.parametrize("given", ["--measurements", "--variants"])
def test_one_file_without_the_other_is_refused(run: Run, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(given, "some.csv")
    assert "--measurements and --variants go together: give both, or none" in capsys.readouterr().err


def test_files_that_are_not_there_are_named(run: Run) -> None:
    with pytest.raises(SystemExit, match=r"cannot read measurements none.csv: .*; give a Parquet or a CSV file"):
        run("--measurements", "none.csv", "--variants", "none.csv")


@pytest.mark.parametrize(("rows", "found"), [(3, 1), (9, 4), (21, 10)])
def test_too_few_measurements_are_refused(run: Run, tmp_path: Path, rows: int, found: int) -> None:
    _, measurements, _, variants = files(tmp_path, ["small"], 0)
    few = tmp_path / "few.csv"
    few.write_text("\n".join(Path(measurements).read_text().splitlines()[:rows]) + "\n")
    refused = f"{found} configurations are too few to learn from 70% of them; measure at least 11"
    with pytest.raises(SystemExit, match=refused):
        run("--measurements", str(few), "--variants", variants)
