"""Labelled data that comes with Accord, none of which any built-in model was trained on."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.tensor import TensorSpec
from catalog.zoo.sentiment.reviews import labelled_reviews

Labelled = tuple[dict[str, NDArray[Any]], NDArray[Any]]
"""Inputs by name and the true labels, with as many rows."""


def _digits() -> Labelled:
    from catalog.zoo.digits import held_out  # scikit-learn takes a second to import, and only such sets need it

    images, labels = held_out()
    return {"image": images}, labels


def _strips() -> Labelled:
    from catalog.zoo.strips.measures import measured_strips

    strips = measured_strips("test")
    return {"image": strips.images}, np.array(strips.numbers)


def _reviews() -> Labelled:
    texts, labels = labelled_reviews()
    return {"text": np.array(texts)}, np.array(labels)


BUILTIN: Mapping[str, Callable[[], Labelled]] = {"test": _digits, "strips": _strips, "reviews": _reviews}
"""Single digits, strips of several with the number as label, and sentences with ``positive`` or ``negative``."""

INPUTS: Mapping[str, TensorSpec] = {
    "test": TensorSpec("image", "FP32", (-1, 12, 12)),
    "strips": TensorSpec("image", "UINT8", (-1, 12, 128)),
    "reviews": TensorSpec("text", "BYTES", (-1,)),
}
"""The only input that each of them has."""

OF_TASK: Mapping[str, str] = {
    "digits": "test",
    "strip-find > digits > strip-check": "strips",
    "sentiment": "reviews",
}
"""Which of them an endpoint takes, by what its metadata says that it does."""


def fitting(task: str, inputs: Iterable[Mapping[str, Any]]) -> str | None:
    """The built-in data set for an endpoint that does ``task`` with these inputs; None where there is none.

    ``inputs`` are those of its metadata (``GET /v2/models/NAME``): tasks may be called the same and take others. Where
    they are unknown (none), the task decides.
    """
    found = OF_TASK.get(task)
    return found if found is not None and all(_is_for(INPUTS[found], each) for each in inputs) else None


def _is_for(own: TensorSpec, given: Mapping[str, Any]) -> bool:
    shape = given["shape"]
    return (given["name"], given["datatype"], len(shape)) == (own.name, own.datatype, len(own.shape)) and all(
        axis in (-1, size) for axis, size in zip(shape, own.shape, strict=True)
    )
