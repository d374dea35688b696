import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import slowdown_scene as scene
from predictor.model_file import load
from predictor.models import gaussian_process_fit
from predictor.training import KINDS
from serve_app.cli.main import app


def train(files: tuple[str, str], out: Path, *arguments: str) -> Any:
    measurements, variants = files
    given = ("--measurements", measurements, "--variants", variants, "--out", str(out), *arguments)
    return CliRunner().invoke(app, ["interference", "train", *given])


def words(output: str) -> str:
    """What was printed, without the line breaks that the width of the terminal makes."""
    return " ".join(output.split())


def test_the_best_kind_is_written_with_what_it_learned_from(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaussian_process_fit, "STEPS", 50)
    out = tmp_path / "new" / "model.safetensors"
    result = train(files, out, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    errors = printed["cross_validation_mae"]
    assert set(errors) == set(KINDS)
    assert printed["kind"] == min(errors, key=errors.get)
    assert printed["configurations"] == 32
    assert printed["machines"] == ["small"]
    assert printed["variants"] == list(scene.NAMES)
    assert printed["degrees"] == [2, 3]
    assert errors[printed["kind"]] < printed["spread"] / 3
    assert printed["out"] == str(out)
    card = load(out).card
    assert (card.kind, card.errors, card.degrees, card.configurations) == (printed["kind"], errors, (2, 3), 32)
    assert card.created_s == printed["created_s"] > 1.7e9


def test_a_kind_may_be_given_and_the_seed_makes_the_predictor(files: tuple[str, str], tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.safetensors" for number in range(3)]
    for path, seed in zip(paths, ("1", "1", "2"), strict=True):
        result = train(files, path, "--kind", "forest", "--seed", seed)
        assert result.exit_code == 0, result.output
    shown = words(result.stdout)
    assert "forest from 32 configurations of 7 variants on small" in shown
    assert "slowdowns spread by" in shown
    asked = [scene.Configuration("small", ("v1", "v2"))]
    first, second, third = (load(path).predictor.slowdowns(asked).tolist() for path in paths)
    assert first == second != third


@pytest.mark.parametrize(
    ("out", "arguments", "complaint"),
    [
        ("model.pkl", (), "give a file that ends in .safetensors"),
        ("m.safetensors", ("--kind", "oracle"), "--kind 'oracle' is unknown; use one of gaussian_process, forest"),
        ("m.safetensors", ("--variants", "none.csv"), "cannot read variants none.csv"),
        ("m.safetensors", ("--measurements", "none.csv"), "cannot read measurements none.csv"),
        ("in/the/way/m.safetensors", ("--kind", "forest"), "give another path"),
    ],
)
def test_what_is_given_wrongly_is_said_with_exit_code_2(
    files: tuple[str, str], tmp_path: Path, out: str, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "in").write_text("no folder")
    result = train(files, tmp_path / out, "--json", *arguments)
    assert result.exit_code == 2
    assert complaint in json.loads(result.stdout)["error"]
    assert complaint in words(result.stderr)
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_too_few_configurations_are_refused(files: tuple[str, str], tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join(Path(files[0]).read_text().splitlines()[:11]) + "\n")
    result = train((str(few), files[1]), tmp_path / "m.safetensors")
    assert result.exit_code == 2
    assert "5 configurations are too few to learn from; measure at least 8" in words(result.stderr)
