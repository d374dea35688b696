"""Variants are checked field by field."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from catalog.errors import ConfigError
from catalog.variant import Variant

_PARSE = TypeAdapter(Variant).validate_python


def described(**changes: Any) -> dict[str, Any]:
    """A valid variant as a catalogue file gives it, with ``changes``."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [-1, 2]}
    return {
        "name": "small",
        "task": "digits",
        "runtime": "onnx",
        "artifact": {"uri": "small.onnx"},
        "accuracy": 0.71234,
        "inputs": [tensor],
        "outputs": [tensor],
    } | changes


def test_a_minimal_variant_has_no_labels_and_no_checksum() -> None:
    variant = _PARSE(described())
    assert (variant.labels, variant.artifact.sha256, variant.max_batch, variant.options) == ((), None, 64, {})


def test_accuracy_in_percent_is_a_hundred_times_the_ratio() -> None:
    assert _PARSE(described()).accuracy_pct == pytest.approx(71.234)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accuracy", 71.2),
        ("accuracy", -0.1),
        ("inputs", []),
        ("outputs", []),
        ("max_batch", 0),
        ("row_bytes", 0),
        ("artifact", {"uri": "x", "sha256": "ABC"}),
        ("artifact", {"uri": "x", "sha256": "G" * 64}),
        ("latency", 3),
        ("labels", ["cat", "dog", "cat"]),
    ],
)
def test_a_wrong_field_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=field):
        _PARSE(described(**{field: value}))


def test_a_label_that_names_two_classes_is_named_with_both() -> None:
    words = "label 'cat' names the classes 0, 2; give each class a name of its own"
    with pytest.raises(ValidationError, match=words):
        _PARSE(described(labels=["cat", "dog", "cat"]))


@pytest.mark.parametrize(("batch_bytes", "rows"), [(99, 9), (10, 1), (640, 64), (1e12, 64), (float("inf"), 64)])
def test_batches_have_as_many_rows_as_memory_takes(batch_bytes: float, rows: int) -> None:
    assert _PARSE(described(row_bytes=10)).within(batch_bytes).max_batch == rows
    assert _PARSE(described()).within(batch_bytes).max_batch == 64  # nobody says what a row takes


def test_a_row_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'small': one row takes 10 bytes .* \(row_bytes\), and there are 9 for a"):
        _PARSE(described(row_bytes=10)).within(9)


def test_a_class_is_named_by_import_and_comes_back_from_what_is_written() -> None:
    artifact = {"import": "models:Small", "memory_bytes": 7}
    variant = _PARSE(described(runtime="python", artifact=artifact))
    assert (variant.artifact.import_path, variant.artifact.memory_bytes) == ("models:Small", 7)
    adapter = TypeAdapter(Variant)
    assert _PARSE(adapter.dump_python(variant, mode="json")) == variant
    written = adapter.dump_python(variant, mode="json", by_alias=True, exclude_defaults=True)
    assert written["artifact"] == artifact
    assert _PARSE(written) == variant


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runtime": "python"}, "runtime 'python' runs a class; give artifact"),
        ({"artifact": {"import": "models:Small"}}, "runtime 'onnx' runs a file"),
        ({"runtime": "python", "artifact": {"import": "models"}}, "write module:Class"),
        ({"runtime": "python", "artifact": {"import": "models:A", "uri": "a.onnx"}}, "give one"),
        ({"runtime": "python", "artifact": {"import": "models:A", "sha256": "a" * 64}}, "give one"),
        ({"artifact": {"uri": "a.onnx", "memory_bytes": 3}}, "memory_bytes goes with import alone"),
        ({"artifact": {}}, "artifact.uri is missing"),
    ],
)
def test_a_class_and_a_file_are_not_taken_for_each_other(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        _PARSE(described(**changes))
