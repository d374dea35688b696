"""Scenario files that cannot be used are refused by name."""

import shutil
from pathlib import Path

import pytest

from benchmarks.ipa.scenario import FOLDER, read_scenario
from catalog.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "ipa"))


def test_a_task_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "video.yaml").write_text("stages:\n  - {task: smelling, slo_s: 1}\n")
    with pytest.raises(ConfigError, match=r"video\.yaml: no task smelling in tasks\.yaml; known are object-detection"):
        read_scenario(folder)


def test_a_wrong_value_is_named_with_its_place(folder: Path) -> None:
    (folder / "nlp.yaml").write_text("stages:\n  - {task: translation, slo_s: -1}\n")
    with pytest.raises(ConfigError, match=r"nlp\.yaml, stages\.0\.slo_s: .*greater than 0, it is -1"):
        read_scenario(folder)


def test_a_missing_file_and_one_that_is_no_yaml_are_named(folder: Path) -> None:
    (folder / "nlp.yaml").write_text("stages: [")
    with pytest.raises(ConfigError, match=r"nlp\.yaml is not YAML"):
        read_scenario(folder)
    (folder / "measured.yaml").unlink()
    with pytest.raises(ConfigError, match=r"cannot read .*measured\.yaml: No such file"):
        read_scenario(folder)
