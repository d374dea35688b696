"""Which outputs of a model may say the class of a row."""

from collections.abc import Iterable

from catalog.tensor import TensorSpec


def label_output(outputs: Iterable[TensorSpec]) -> TensorSpec | None:
    """A whole number for each row: the index of its class, or a value; None where there is none."""
    return next((spec for spec in outputs if spec.shape == (-1,) and spec.dtype.kind in "iu"), None)


def score_output(outputs: Iterable[TensorSpec]) -> TensorSpec | None:
    """A score for each class of each row: floating-point numbers [-1, classes]; None where there is none."""
    return next((spec for spec in outputs if len(spec.shape) == 2 and spec.dtype.kind == "f"), None)
