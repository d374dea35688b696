"""Labelled data that comes with Accord, none of which any built-in model was trained on."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


BUILTIN: Mapping[str, Callable[[], Labelled]] = {"test": _digits, "strips": _strips}
"""Single digits, and strips of several with the number as label."""

OF_TASK: Mapping[str, str] = {"digits": "test", "strip-find > digits > strip-check": "strips"}
"""Which of them an endpoint takes, by what its metadata says that it does."""
