"""Variants are checked field by field."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

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
        ("artifact", {"uri": "x", "sha256": "ABC"}),
        ("artifact", {"uri": "x", "sha256": "G" * 64}),
        ("latency", 3),
    ],
)
def test_a_wrong_field_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=field):
        _PARSE(described(**{field: value}))
