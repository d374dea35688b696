"""Catalogue files are refused with the field and the value that are wrong."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError


def described(name: str = "small", **changes: Any) -> dict[str, Any]:
    """A valid variant as a catalogue file gives it, with ``changes``."""
    return {
        "name": name,
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": f"{name}.onnx"},
        "accuracy": 0.9,
        "labels": ["no", "yes"],
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
        "outputs": [{"name": "y", "datatype": "INT64", "shape": [-1]}],
    } | changes


def written(folder: Path, *variants: dict[str, Any], **keys: Any) -> Path:
    """A catalogue file of ``variants`` with further top-level ``keys``."""
    path = folder / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "variants": list(variants)} | keys), encoding="utf-8")
    return path


def test_variants_come_in_the_order_of_the_file_and_group_by_task(tmp_path: Path) -> None:
    catalogue = load_catalogue(written(tmp_path, described("b"), described("c", task="letters"), described("a")))
    assert catalogue.tasks == ("digits", "letters")
    assert [variant.name for variant in catalogue.of_task("digits")] == ["b", "a"]
    assert catalogue.variant("c").task == "letters"
    assert catalogue.root == str(tmp_path)


def test_builtin_names_the_zoo() -> None:
    assert load_catalogue("builtin").tasks == ("digits", "strip-find", "strip-check")


def test_an_unknown_key_of_a_variant_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"variants\[0\].acuracy is unknown \(did you mean 'accuracy'\?\)"):
        load_catalogue(written(tmp_path, described(acuracy=0.5)))


def test_an_unknown_key_of_the_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"catalogue\.yaml: models"):
        load_catalogue(written(tmp_path, described(), models=[]))


def test_a_wrong_value_is_quoted_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"variants\[0\].accuracy is 93; give a number of at most 1"):
        load_catalogue(written(tmp_path, described(accuracy=93)))


def test_doubled_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="repeats small"):
        load_catalogue(written(tmp_path, described(), described()))


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": ["yes", "no"]},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]},
        {"outputs": [{"name": "z", "datatype": "INT64", "shape": [-1]}]},
    ],
)
def test_variants_of_one_task_with_other_tensors_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="'small' and 'large' both do task 'digits' but differ"):
        load_catalogue(written(tmp_path, described(), described("large", **changes)))


def test_variants_of_different_tasks_may_have_other_tensors(tmp_path: Path) -> None:
    load_catalogue(written(tmp_path, described(), described("large", task="letters", labels=[])))


def test_an_unknown_task_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no variant does task 'faces'; the catalogue has digits"):
        load_catalogue(written(tmp_path, described())).of_task("faces")


def test_an_unknown_variant_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no variant 'tiny'; the catalogue has small"):
        load_catalogue(written(tmp_path, described())).variant("tiny")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read catalogue .*none\.yaml"):
        load_catalogue(tmp_path / "none.yaml")


def test_a_file_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("variants: [", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml is not YAML"):
        load_catalogue(path)
