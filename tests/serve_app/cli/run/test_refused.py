"""What `accord run` refuses at once, before it measures and starts anything."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from serve_app.cli.config_file import read_serve_file, write_served
from serve_app.cli.main import app
from serve_app.cli.run.held_ports import hold
from serve_app.testing.free_ports import find_free_port

ARGS = {
    "endpoints": {"digits": {"task": "digits", "slo_ms": 100}},
    "pools": {"cpu": {"num_cpus": 0.1}},
    "profiles": {"cpu": "nope.csv"},
    "router_num_cpus": 0.1,
}
"""With profiles that are not there, which is found when measuring is due."""


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def content(**more: Any) -> str:
    application = {"name": "a", "import_path": "serve_app.main:build", "args": ARGS}
    return yaml.safe_dump({"http_options": {"port": find_free_port()}, "applications": [application]} | more)


def run(path: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["run", str(path), *options])


@contextmanager
def pipe(text: str) -> Iterator[Path]:
    """What a shell gives for ``<(...)``."""
    reading, writing = os.pipe()
    with os.fdopen(reading):
        with os.fdopen(writing, "w") as file:
            file.write(text)
        yield Path(f"/dev/fd/{reading}")


def test_http_and_grpc_on_one_port_are_refused_with_both_fields(tmp_path: Path) -> None:
    path, port = tmp_path / "serve.yaml", find_free_port()
    path.write_text(content(http_options={"port": port}, grpc_options={"port": port}))
    done = run(path)
    assert done.exit_code == 2
    words = f"{path}: http_options.port and grpc_options.port (or --grpc-port) are both {port}; give gRPC another port"
    assert words in done.stderr
    path.write_text(content(http_options={"port": port}, grpc_options={"port": find_free_port()}))
    assert words in run(path, "--grpc-port", str(port)).stderr
    assert "are both" not in run(path, "--grpc-port", "0").stderr


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are held by names in Linux's abstract namespace")
def test_where_another_command_is_going_to_listen_is_refused_until_that_has_ended(tmp_path: Path) -> None:
    path, port = tmp_path / "serve.yaml", find_free_port()
    path.write_text(content(http_options={"host": "127.0.0.1", "port": port}))
    words = f"127.0.0.1:{port} is where another `accord run` is going to listen"
    with ExitStack() as other:
        assert hold(f"127.0.0.1:{port}", other)
        done = run(path)
        assert done.exit_code == 2
        assert words in done.stderr
    for _ in range(2):  # one that was refused for another reason holds it no longer
        assert "nope.csv" in run(path).stderr


def test_a_cache_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ACCORD_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "serve.yaml").write_text(content())
    done = run(tmp_path / "serve.yaml")
    assert done.exit_code == 2
    assert f"cannot make the folder {tmp_path / 'file' / 'logs'}" in done.stderr
    assert "nope.csv" in run(tmp_path / "serve.yaml", "--verbose").stderr


def test_a_config_from_a_pipe_is_read_once(tmp_path: Path) -> None:
    with pipe(content()) as path:
        served = write_served(path, tmp_path, emulate=False, host=None)
    assert read_serve_file(served).app.endpoints["digits"].slo_ms == 100
    with pipe(content()) as path:
        done = run(path)
    assert done.exit_code == 2
    assert "nope.csv" in done.stderr


def test_what_is_wrong_with_a_config_is_said_of_the_file_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(content(http_options={"port": "many"}))
    assert f"error: {path}: http_options.port is 'many'" in run(path).stderr
