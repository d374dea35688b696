"""What the built-in models say of the digits that are sent, worked out beside any service."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.catalogue import BUILTIN, load_catalogue
from catalog.zoo.digits import held_out
from catalog.zoo.session import session

LABEL, IMAGE = "label", "image"
"""Names of an output and of the input."""


def outputs(variant: str, rows: int) -> dict[str, NDArray[Any]]:
    """All outputs of a variant for the first ``rows`` held-out digits, and these themselves under `IMAGE`."""
    described = load_catalogue("builtin").variant(variant)
    images = held_out()[0][:rows].astype(np.float32)
    names = [spec.name for spec in described.outputs]
    found = session(BUILTIN.parent / described.artifact.uri).run(names, {IMAGE: images})
    return {**dict(zip(names, found, strict=True)), IMAGE: images}


def right(variant: str, rows: int) -> NDArray[np.bool_]:
    """Whether a variant reads each of the first ``rows`` held-out digits rightly."""
    return np.asarray(outputs(variant, rows)[LABEL] == held_out()[1][:rows])
