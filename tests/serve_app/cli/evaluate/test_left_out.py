"""What one variant says, prints or is called costs neither the others nor files elsewhere."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluate_scene import evaluate
from typer.testing import CliRunner
from user_code_scene import write_module

from serve_app.cli.main import app

CLASSES = """
    import os
    import numpy as np

    print("imported")

    class Says:
        def __init__(self, scores):
            self.scores = scores
            print("made")

        def setup(self, device):
            os.write(1, b"as a C library does\\n")

        def predict(self, inputs):
            print("ran")
            rows = len(inputs["x"])
            return {"scores": np.full((rows, 2), self.scores, np.float32)}
"""


def entry(name: str, scores: list[float]) -> dict[str, object]:
    return {
        "name": name,
        "task": "t",
        "runtime": "python",
        "artifact": {"import": "saying:Says"},
        "accuracy": 0.5,
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
        "outputs": [{"name": "scores", "datatype": "FP32", "shape": [-1, 2]}],
        "options": {"scores": scores},
    }


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_module(tmp_path, CLASSES, "saying")
    np.savez(tmp_path / "labelled.npz", x=np.zeros(4, np.float32), label=np.array([0, 0, 0, 1]))
    return tmp_path


def catalogue(folder: Path, *entries: dict[str, object]) -> Path:
    path = folder / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "variants": list(entries)}))
    return path


def test_a_variant_whose_scores_are_no_numbers_is_left_out(folder: Path) -> None:
    path = catalogue(folder, entry("good", [1.0, 0.0]), entry("odd", [float("nan")] * 2), entry("bad", [0.0, 1.0]))
    common = (str(path), "--data", str(folder / "labelled.npz"), "--out", str(folder / "out"))
    done = evaluate(*common, "--json")
    assert done.exit_code == 1, done.output
    body = json.loads(done.stdout)
    assert {name: each["accuracy"] for name, each in body["variants"].items()} == {"good": 0.75, "bad": 0.25}
    assert list(body["failed"]) == ["odd"]
    assert "variant odd is left out: variant 'odd': " in " ".join(done.stderr.split())
    written = json.loads((folder / "catalogue.accuracy.json").read_text())
    assert set(written["variants"]) == {"good", "bad"}
    assert (folder / "out" / "report.html").exists()
    shown = evaluate(*common)
    assert shown.exit_code == 1
    assert "odd is left out: " in shown.stdout


def test_where_no_variant_is_left_the_first_fault_is_the_error(folder: Path) -> None:
    path = catalogue(folder, entry("odd", [float("nan")] * 2))
    done = evaluate(str(path), "--data", str(folder / "labelled.npz"), "--out", str(folder / "out"))
    assert done.exit_code == 2
    assert "error: variant 'odd': " in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["../..", "/{0}/elsewhere", "x" * 300])
def test_a_name_is_no_path(folder: Path, name: str) -> None:
    path = catalogue(folder, entry(name.format(folder), [1.0, 0.0]))
    before = {each.name for each in folder.iterdir()}
    out = folder / "out"
    done = evaluate(str(path), "--data", str(folder / "labelled.npz"), "--out", str(out), "--no-write")
    assert done.exit_code == 0, done.output
    assert {each.name for each in folder.iterdir()} - before <= {"out", "cache", "__pycache__"}
    assert (folder / "labelled.npz").exists()
    assert len(list((out / "answers").iterdir())) == 1
    assert len(list(out.glob("answers/*/*.npz"))) == 1


def test_what_a_class_prints_is_no_part_of_the_result(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = catalogue(folder, entry("good", [1.0, 0.0]))
    evaluated = ["evaluate", str(path), "--data", str(folder / "labelled.npz"), "--out", str(folder / "out"), "--json"]
    profiled = ["profile", "--catalogue", str(path), "--budget", "0.1", "--json"]
    for command in (evaluated, profiled):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert "good" in json.loads(done.stdout)["variants"]
        assert "ran" in done.stderr
        caught = capfd.readouterr()
        assert caught.out == ""
        assert "as a C library does" in caught.err
