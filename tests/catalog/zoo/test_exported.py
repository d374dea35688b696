"""Entries of a catalogue file are replaced by task."""

from pathlib import Path

import yaml

from catalog.catalogue import load_catalogue
from catalog.zoo.exported import catalogue_entry, write_entries


def entry(folder: Path, name: str, task: str) -> dict[str, object]:
    path = folder / "models" / f"{name}.onnx"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(name.encode())
    return catalogue_entry(task, path, folder, 0.123456, {"x": ("FP32", (-1, 2))}, {"y": ("INT64", (-1,))})


def names(catalogue: Path) -> list[str]:
    return [variant.name for variant in load_catalogue(catalogue).variants]


def test_entries_replace_those_of_their_tasks_and_leave_the_others_where_they_were(tmp_path: Path) -> None:
    catalogue = tmp_path / "catalogue.yaml"
    first = [entry(tmp_path, name, task) for name, task in (("a", "one"), ("b", "two"), ("c", "three"))]
    catalogue.write_text(yaml.safe_dump({"version": 1, "votes": {"one": "votes.csv"}, "variants": first}))
    write_entries(catalogue, [entry(tmp_path, "d", "two"), entry(tmp_path, "e", "two")], 1000, "data")
    assert names(catalogue) == ["a", "d", "e", "c"]
    write_entries(catalogue, [entry(tmp_path, "f", "four")], 500, "data")
    assert names(catalogue) == ["a", "d", "e", "c", "f"]
    loaded = load_catalogue(catalogue)
    assert loaded.votes == {"one": str(tmp_path / "votes.csv")}
    examples = {each.name: None if each.measured is None else each.measured.examples for each in loaded.variants}
    assert examples == {"a": None, "d": 1000, "e": 1000, "c": None, "f": 500}
    assert {each.accuracy for each in loaded.variants} == {0.1235}


def test_an_entry_is_called_like_its_file_and_knows_its_checksum(tmp_path: Path) -> None:
    made = entry(tmp_path, "a", "one")
    assert (made["name"], made["accuracy"]) == ("a", 0.1235)
    assert made["artifact"] == {
        "uri": "models/a.onnx",
        "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    }
    assert "labels" not in made
