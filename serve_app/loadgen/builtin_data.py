"""Labelled data that comes with Accord, none of which any built-in model was trained on."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

INPUTS: Mapping[str, str] = {"test": "image", "strips": "image", "reviews": "text"}
"""The only input that each of them has."""

OF_TASK: Mapping[str, str] = {
    "digits": "test",
    "strip-find > digits > strip-check": "strips",
    "sentiment": "reviews",
}
"""Which of them an endpoint takes, by what its metadata says that it does."""


def fitting(task: str, inputs: Iterable[str]) -> str | None:
    """The built-in data set for an endpoint that does ``task`` with these inputs; None where there is none.

    Tasks may be called the same and take other inputs; where ``inputs`` are unknown (none), the task decides.
    """
    found, given = OF_TASK.get(task), set(inputs)
    return found if found is not None and given <= {INPUTS[found]} else None
