"""The file of measured accuracies beside a catalogue."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.evaluation.accuracy_file import (
    MeasuredAccuracies,
    MeasuredVariant,
    accuracy_path,
    fingerprint,
    read_accuracies,
    write_accuracies,
)
from catalog.evaluation.measured import AccuracySource, Measured
from toy_models import write_toy_catalogue

MEASURED = Measured("accuracy", 0.6, 0.8, 100, "data.npz")


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    return write_toy_catalogue(tmp_path)


def measure(catalogue: Path, name: str = "good", accuracy: float = 0.7) -> None:
    loaded = load_catalogue(catalogue)
    own = MeasuredVariant(of=fingerprint(loaded.variant(name), loaded.root), accuracy=accuracy, measured=MEASURED)
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
    variant = load_catalogue(catalogue).variant("good")
    root = str(catalogue.parent)
    assert fingerprint(replace(variant, options={"max_length": 3}), root) != fingerprint(variant, root)
    with (catalogue.parent / variant.artifact.uri).open("ab") as model:
        model.write(b"changed")
    with caplog.at_level(logging.WARNING):
        changed = load_catalogue(catalogue).variant("good")
    assert changed.measured is None
    assert "Run `accord evaluate` again" in caplog.text


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
