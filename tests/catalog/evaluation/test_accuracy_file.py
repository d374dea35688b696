"""The file of measured accuracies beside a catalogue."""

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from user_code_scene import variant, write_module

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.evaluation.accuracy_file import (
    MeasuredAccuracies,
    MeasuredVariant,
    accuracy_path,
    fingerprint,
    identity,
    read_accuracies,
    write_accuracies,
)
from catalog.evaluation.measured import AccuracySource, Measured
from catalog.variant import Artifact
from toy_models import write_toy_catalogue

Y = {"name": "y", "datatype": "FP32", "shape": [-1]}
MEASURED = Measured("accuracy", 0.6, 0.8, 100, "data.npz")


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    return write_toy_catalogue(tmp_path)


def measure(catalogue: Path, name: str = "good", accuracy: float = 0.7) -> None:
    loaded = load_catalogue(catalogue)
    own = MeasuredVariant(of=identity(loaded.variant(name), loaded.root), accuracy=accuracy, measured=MEASURED)
    write_accuracies(accuracy_path(catalogue), MeasuredAccuracies({name: own}, {"toy": "votes.csv"}))


def test_what_was_measured_takes_the_place_of_what_was_declared(catalogue: Path) -> None:
    declared = load_catalogue(catalogue).variant("good")
    assert (declared.origin.source, declared.measured) == (AccuracySource.DECLARED, None)
    measure(catalogue)
    loaded = load_catalogue(catalogue)
    assert loaded.variant("good").accuracy == 0.7
    assert loaded.variant("good").origin == (AccuracySource.MEASURED, MEASURED)
    assert loaded.votes == {"toy": str(catalogue.parent / "votes.csv")}
    others = [each for each in loaded.variants if each.name != "good"]
    assert others
    assert all(each.measured is None for each in others)


def test_another_model_or_other_options_are_not_what_was_measured(
    catalogue: Path, caplog: pytest.LogCaptureFixture
) -> None:
    measure(catalogue)
    good = load_catalogue(catalogue).variant("good")
    root = str(catalogue.parent)
    assert fingerprint(replace(good, options={"max_length": 3}), root) != fingerprint(good, root)
    with (catalogue.parent / good.artifact.uri).open("ab") as model:
        model.write(b"changed")
    with caplog.at_level(logging.WARNING):
        changed = load_catalogue(catalogue).variant("good")
    assert changed.measured is None
    assert "Run `accord evaluate` again" in caplog.text


def test_votes_of_a_variant_that_has_changed_since_are_outdated(
    catalogue: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = load_catalogue(catalogue)
    of = {each.name: identity(each, loaded.root) for each in loaded.variants}
    recorded = MeasuredAccuracies({}, {"toy": "votes.csv"}, {"toy": of})
    write_accuracies(accuracy_path(catalogue), recorded)
    assert read_accuracies(accuracy_path(catalogue)) == recorded
    with caplog.at_level(logging.WARNING):
        assert load_catalogue(catalogue).outdated == {}
        assert caplog.text == ""
        with (catalogue.parent / loaded.variant("good").artifact.uri).open("ab") as model:
            model.write(b"changed")
        changed = load_catalogue(catalogue)
    assert changed.outdated == {changed.votes["toy"]: {"good"}}
    assert "The votes of good that" in caplog.text
    assert "Run `accord evaluate` again for all variants of task toy" in caplog.text
    text = catalogue.read_text()
    catalogue.write_text("votes: {toy: own.csv}\n" + text)
    assert load_catalogue(catalogue).outdated == {}, "it names votes of its own"
    catalogue.write_text(text)
    write_accuracies(accuracy_path(catalogue), replace(recorded, voters={}))
    assert load_catalogue(catalogue).outdated == {}, "as an older version wrote it"


@pytest.mark.parametrize("change", [{"labels": ["cat", "dog"]}, {"outputs": [{**Y, "datatype": "FP16"}]}])
def test_answers_that_are_called_otherwise_by_now_are_not_what_was_measured_or_recorded(
    catalogue: Path, caplog: pytest.LogCaptureFixture, change: dict[str, Any]
) -> None:
    loaded = load_catalogue(catalogue)
    of = {each.name: identity(each, loaded.root) for each in loaded.variants}
    own = MeasuredVariant(of=of["good"], accuracy=0.7, measured=MEASURED)
    write_accuracies(accuracy_path(catalogue), MeasuredAccuracies({"good": own}, {"toy": "votes.csv"}, {"toy": of}))
    content = yaml.safe_load(catalogue.read_text())
    for entry in content["variants"]:
        entry.update(change)
    catalogue.write_text(yaml.safe_dump(content))
    with caplog.at_level(logging.WARNING):
        changed = load_catalogue(catalogue)
    assert changed.variant("good").measured is None
    assert changed.outdated == {changed.votes["toy"]: set(of)}
    assert caplog.text.count("of another model, or with other options, labels or outputs") == 2
    assert fingerprint(changed.variant("good"), changed.root) == fingerprint(loaded.variant("good"), loaded.root)


def test_what_an_older_version_measured_does_not_count_since_labels_and_outputs_are_not_known(
    catalogue: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = load_catalogue(catalogue)
    of = fingerprint(loaded.variant("good"), loaded.root)
    own = MeasuredVariant(of=of, accuracy=0.7, measured=MEASURED)
    write_accuracies(accuracy_path(catalogue), MeasuredAccuracies({"good": own}))
    with caplog.at_level(logging.WARNING):
        assert load_catalogue(catalogue).variant("good").measured is None
    assert "was measured by an older version of Accord, which did not note of what labels and outputs" in caplog.text
    assert "Run `accord evaluate` again" in caplog.text


def test_a_class_with_another_helper_module_or_another_file_of_its_options_is_not_what_was_measured(
    tmp_path: Path,
) -> None:
    write_module(tmp_path, "class Doubles: ...")
    helper = write_module(tmp_path, "FACTOR = 2", "helper")
    weights = tmp_path / "weights.npz"
    weights.write_bytes(b"two")
    own = variant(options={"weights": weights.name})
    of = [fingerprint(own, str(tmp_path))]
    os.utime(weights, ns=(1, 1))
    assert fingerprint(own, str(tmp_path)) == of[0]
    weights.write_bytes(b"six")
    of.append(fingerprint(own, str(tmp_path)))
    helper.write_text("FACTOR = 6")
    of.append(fingerprint(own, str(tmp_path)))
    assert len(set(of)) == 3


def test_recorded_outputs_beside_an_emulated_variant_are_part_of_it(catalogue: Path) -> None:
    emulated = replace(
        load_catalogue(catalogue).variant("good"),
        runtime="emulated",
        artifact=Artifact("profiles.csv", "0" * 64),
        options={"outputs": "recorded.npz"},
    )
    root = catalogue.parent
    before = fingerprint(emulated, str(root))
    (root / "recorded.npz").write_bytes(b"recorded")
    assert fingerprint(emulated, str(root)) != before


def test_a_measurement_is_not_typed_in(catalogue: Path) -> None:
    text = catalogue.read_text()
    first = next(line for line in text.splitlines() if "accuracy:" in line)
    indent = first[: first.index("accuracy:")].replace("-", " ")
    typed = f"{first}\n{indent}measured: {{metric: accuracy, low: 0.9, high: 1.0, examples: 5}}"
    catalogue.write_text(text.replace(first, typed, 1))
    with pytest.raises(ConfigError, match="has `measured`, which is not typed in"):
        load_catalogue(catalogue)


def test_a_damaged_file_is_refused_by_name(catalogue: Path) -> None:
    accuracy_path(catalogue).write_text('{"variants": {"good": {"of": "x", "accuracy": 7}}}')
    with pytest.raises(ConfigError, match=r"measured accuracies .*\.accuracy\.json"):
        load_catalogue(catalogue)


def test_nothing_was_measured_where_there_is_no_file(tmp_path: Path) -> None:
    assert read_accuracies(tmp_path / "none.accuracy.json") == MeasuredAccuracies()
