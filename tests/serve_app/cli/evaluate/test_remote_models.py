"""Which remote models evaluations, profiles and measurements of interference may have."""

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from evaluate_scene import NAMES, evaluate
from typer.testing import CliRunner

from catalog.artifacts.rules import ArtifactRules
from catalog.catalogue import BUILTIN
from catalog.store import checksum
from measuring_scene import measure_quickly
from serve_app.cli.config_file import IMPORT_PATH, artifact_rules
from serve_app.cli.main import app

MODELS = BUILTIN.parent / "models"


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Path]:
    """A catalogue whose model comes from a server."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(MODELS))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        file = f"{NAMES[0]}.onnx"
        entry = next(each for each in yaml.safe_load(BUILTIN.read_text())["variants"] if each["name"] == NAMES[0])
        url = f"http://127.0.0.1:{server.server_port}/{file}"
        entry["artifact"] = {"uri": url, "sha256": checksum(MODELS / file)}
        path = tmp_path / "remote.yaml"
        path.write_text(yaml.safe_dump({"variants": [entry]}))
        yield path
        server.shutdown()


def config(folder: Path, **artifacts: object) -> Path:
    args = {
        "endpoints": {"digits": {"task": "digits", "slo_ms": 100}},
        "pools": {"cpu": {"workers": 1}},
        "artifacts": artifacts,
    }
    path = folder / "serve.yaml"
    application = {"name": "accord", "import_path": IMPORT_PATH, "args": args}
    path.write_text(yaml.safe_dump({"applications": [application]}))
    return path


def test_the_config_says_what_is_allowed(tmp_path: Path) -> None:
    rules = artifact_rules(config(tmp_path, private=True, allow_code=["exported_program"]))
    assert (rules.private, rules.allow_code) == (True, frozenset({"exported_program"}))
    assert artifact_rules(None) == ArtifactRules()


def test_whatever_loads_models_goes_by_it(
    remote: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure_quickly(monkeypatch)
    no_more = ("--config", str(config(tmp_path, max_bytes=1000)))
    twice = tmp_path / "twice.json"
    twice.write_text(json.dumps([[NAMES[0], NAMES[0]]]))
    evaluated = (str(remote), "--data", str(data), "--limit", "50", "--out", str(tmp_path / "out"))
    profiled = ("profile", "--catalogue", str(remote), "--budget", "0.1")
    measured = ("interference", "measure", "--catalogue", str(remote), "--out", str(tmp_path / "measured"))
    measured += ("--only", str(twice))
    others = (profiled, measured)
    for refused in (evaluate(*evaluated, *no_more), *(CliRunner().invoke(app, [*each, *no_more]) for each in others)):
        assert refused.exit_code == 1
        assert "1000" in refused.stderr
    for done in (evaluate(*evaluated), *(CliRunner().invoke(app, each) for each in others)):
        assert done.exit_code == 0, done.output
