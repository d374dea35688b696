"""Where the processes of `accord run` look for modules of one's own."""

import os
from pathlib import Path

import pytest

from serve_app.cli.config_file import ServeFile
from serve_app.cli.run.command import module_paths
from serve_app.config.schema import AppConfig

APP = AppConfig.model_validate({"endpoints": {"digits": {"task": "digits", "slo_ms": 100}}, "pools": {"cpu": {}}})


def served(path: str) -> ServeFile:
    return ServeFile(Path(path), "http://127.0.0.1:8000", APP)


def test_modules_are_found_beside_the_config_and_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "configs").mkdir()
    monkeypatch.setenv("PYTHONPATH", "/given")
    monkeypatch.chdir(tmp_path)
    folders = (str(tmp_path / "configs"), str(tmp_path), "/given")
    assert module_paths(served("configs/serve.yaml")) == {"PYTHONPATH": os.pathsep.join(folders)}


def test_beside_a_pipe_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "here").mkdir()
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path / "here")
    assert module_paths(served(str(tmp_path / "pipe"))) == {"PYTHONPATH": str(tmp_path / "here")}


def test_a_folder_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    assert module_paths(served("serve.yaml")) == {"PYTHONPATH": str(tmp_path)}
