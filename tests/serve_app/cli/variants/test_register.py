import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from catalog.store import checksum
from serve_app.cli.main import app
from toy_models import write_toy_catalogue

PROFILES = {
    "cpu": {"batch_sizes": [1, 2, 64], "p95_ms": [1.25, 2.0, 33.0]},
    "gpu": {"batch_sizes": [1], "p95_ms": [0.5]},
}


def accord(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["register", *arguments])


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """``variants:`` corrupt, brittle and good, whose files are beside it."""
    return write_toy_catalogue(tmp_path)


@pytest.fixture
def variant(catalogue: Path) -> dict[str, Any]:
    """The good one."""
    found: dict[str, Any] = yaml.safe_load(catalogue.read_text())["variants"][2]
    return found


def written(folder: Path, content: Any) -> str:
    path = folder / "new.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def registered(*names: str) -> list[tuple[int, Any]]:
    return [(201, {"variant": name, "profiles": PROFILES}) for name in names]


def test_one_variant_is_sent_with_the_absolute_path_of_its_file(
    server: Any, tmp_path: Path, variant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["variants"] = registered("good")
    variant["artifact"]["sha256"] = checksum(tmp_path / "good.onnx")
    written(tmp_path, variant)
    monkeypatch.chdir(tmp_path.parent)
    result = accord(f"{tmp_path.name}/new.yaml", "--url", server.url, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"variants": [{"variant": "good", "profiles": PROFILES}]}
    ((path, sent),) = server.posted
    assert path == "variants"
    assert sent["artifact"] == {"uri": str(tmp_path / "good.onnx"), "sha256": variant["artifact"]["sha256"]}
    assert sent["inputs"][0] | variant["inputs"][0] == sent["inputs"][0]


def test_a_list_is_registered_one_by_one_and_a_person_sees_the_latencies(server: Any, catalogue: Path) -> None:
    server.answers["variants"] = registered("corrupt", "brittle", "good")
    result = accord(str(catalogue), "--url", server.url)
    assert result.exit_code == 0
    assert [sent["name"] for _, sent in server.posted] == ["corrupt", "brittle", "good"]
    shown = " ".join(result.stdout.split())
    assert "┃ variant ┃ pool ┃ 1 ┃ 2 ┃ 64 ┃" in shown
    assert "│ good │ cpu │ 1.25 │ 2.00 │ 33.00 │" in shown
    assert "│ good │ gpu │ 0.50 │ - │ - │" in shown


def test_a_refusal_names_the_variant_and_those_that_are_in_already(server: Any, catalogue: Path) -> None:
    server.answers["variants"] = [*registered("corrupt"), (400, {"error": "no pool can load it"})]
    result = accord(str(catalogue), "--url", server.url, "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error.startswith("variant 'brittle' is not registered: ")
    assert error.endswith("400: no pool can load it; registered before it: corrupt")
    assert len(server.posted) == 2


def test_a_file_elsewhere_is_left_to_the_workers_to_fetch(server: Any, tmp_path: Path, variant: dict[str, Any]) -> None:
    server.answers["variants"] = registered("good")
    variant["artifact"] = {"uri": "s3://models/good.onnx"}
    assert accord(written(tmp_path, variant), "--url", server.url).exit_code == 0
    assert server.posted[0][1]["artifact"]["uri"] == "s3://models/good.onnx"


@pytest.mark.parametrize("uri", ["gone.onnx", "/nowhere/gone.onnx", "file:///nowhere/gone.onnx"])
def test_a_model_file_that_is_not_there_is_found_before_anything_is_sent(
    server: Any, tmp_path: Path, variant: dict[str, Any], uri: str
) -> None:
    variant["artifact"] = {"uri": uri}
    result = accord(written(tmp_path, variant), "--url", server.url)
    assert result.exit_code == 1
    assert "no model file at" in result.stderr
    assert server.posted == []


def test_nothing_of_a_list_is_sent_where_one_file_is_another_than_named(
    server: Any, tmp_path: Path, catalogue: Path
) -> None:
    content = yaml.safe_load(catalogue.read_text())
    content["variants"][2]["artifact"]["sha256"] = "0" * 64
    result = accord(written(tmp_path, content), "--url", server.url)
    assert result.exit_code == 1
    assert f"expected {'0' * 64}" in result.stderr
    assert server.posted == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not YAML"),
        ("name: digits-xl", "artifact is missing"),
        ("[]", "new.yaml: this is a list of 0; give a mapping"),
        ("variants: []", "names no variant"),
        ("variants: [{name: digits-xl}]", "variants[0].artifact is missing"),
    ],
)
def test_a_file_that_names_no_variant_exits_with_two(server: Any, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "new.yaml"
    path.write_text(content)
    result = accord(str(path), "--url", server.url)
    assert result.exit_code == 2
    assert message in result.stderr
    assert server.posted == []


def test_a_path_that_leads_nowhere_exits_with_two() -> None:
    result = accord("/nowhere/new.yaml")
    assert result.exit_code == 2
    assert "cannot read /nowhere/new.yaml" in result.stderr
