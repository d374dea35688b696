"""Which outputs of a model say the class of a row: one rule for votes, evaluation, and the tools that send queries."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.tensor import TensorSpec


@dataclass(frozen=True)
class ClassOutputs:
    """The outputs that say which of so many ``classes`` a row is of: ``label``, ``scores``, or both."""

    classes: int
    label: TensorSpec | None
    scores: TensorSpec | None


def class_outputs(outputs: Sequence[TensorSpec], labels: int) -> ClassOutputs | None:
    """The outputs that say the class, of a model with so many ``labels`` (0 where none are named); None where none do.

    With labels the scores are those with as many columns; without them they are the only output that may be scores,
    and their columns are the classes. Where several may be, none of them is taken: the first could be an embedding.
    """
    label, fitting = label_output(outputs), _fitting(outputs, labels)
    scores = fitting[0] if len(fitting) == 1 else None
    classes = labels or (0 if scores is None else scores.shape[1])
    if classes < 2 or (label is None and scores is None):
        return None
    return ClassOutputs(classes, label, scores)


def why_no_class(outputs: Sequence[TensorSpec], labels: int) -> str:
    """Why `class_outputs` are None, and what to do."""
    matrices, fitting = _matrices(outputs), _fitting(outputs, labels)
    if len(fitting) > 1:
        named = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in fitting)
        remedy = "" if labels else "give `labels:`, or "
        return f"each of {named} may be the scores of classes; {remedy}list only one of them in `outputs:`"
    if labels and matrices and label_output(outputs) is None:
        columns = ", ".join(f"{spec.name} has {spec.shape[1]} columns" for spec in matrices)
        return f"{columns}, and there are {labels} labels; correct one of the two"
    return (
        "none of them says a class; give an integer label of shape [-1] and the labels, or floating-point scores of "
        "shape [-1, classes]"
    )


def label_output(outputs: Sequence[TensorSpec]) -> TensorSpec | None:
    """A whole number for each row: the index of its class, or a value; None where there is none."""
    return next((spec for spec in outputs if spec.shape == (-1,) and spec.dtype.kind in "iu"), None)


def _matrices(outputs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """Floating-point numbers [-1, columns], of two columns at least."""
    return [spec for spec in outputs if len(spec.shape) == 2 and spec.shape[1] > 1 and spec.dtype.kind == "f"]


def _fitting(outputs: Sequence[TensorSpec], labels: int) -> list[TensorSpec]:
    """Those with a column for each label, all where there are no labels."""
    return [spec for spec in _matrices(outputs) if labels in (0, spec.shape[1])]
