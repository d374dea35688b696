"""Values of tensors as JSON has them: lists of Python objects to arrays."""

import math
from itertools import chain
from typing import Any

import numpy as np

from catalog.errors import BadRequest
from catalog.tensor import TensorSpec
from serve_app.oip.words import kind, shown

_NUMBERS = {int, float}
_PYTHON_TYPES: dict[str, set[type]] = {
    "BOOL": {bool},
    "BYTES": {str},
    "FP32": _NUMBERS,
    "FP64": _NUMBERS,
}
"""What JSON values a datatype takes; whole numbers alone where it is not listed."""

_BOOLEANS = ((b"true", 2), (b"false", 2))
"""With the place of a letter that no number has."""

_MOST_LOOKED_AT = 64


def may_hold_booleans(text: bytes) -> bool:
    """Whether there is a boolean in JSON text, or too much of something like it to be sure.

    Looks for single letters: over megabytes of numbers that is twenty times as fast as looking for words.
    """
    return any(_may_hold(text, word, place) for word, place in _BOOLEANS)


def _may_hold(text: bytes, word: bytes, place: int) -> bool:
    letter = word[place : place + 1]
    at = text.find(letter)
    for _ in range(_MOST_LOOKED_AT):
        if at < 0:
            return False
        if text.startswith(word, max(0, at - place)):
            return True
        at = text.find(letter, at + 1)
    return True


def flat(data: Any, shape: list[int], spec: TensorSpec) -> list[Any]:
    """The values in row-major order, from flat data or from data nested like the shape."""
    if not isinstance(data, list):
        raise BadRequest(f"input {spec.name!r}: 'data' must be a list, not {kind(data)}")
    expected = math.prod(shape)
    if len(shape) == 1 or not data or not isinstance(data[0], list):
        if len(data) != expected:
            raise BadRequest(f"input {spec.name!r} has {len(data)} values; shape {shape} holds {expected}")
        return data
    level: list[Any] = [data]
    for axis in shape:
        if any(not isinstance(part, list) or len(part) != axis for part in level):
            raise BadRequest(f"input {spec.name!r}: 'data' must be flat, or nested like its shape {shape}")
        level = list(chain.from_iterable(level))
    return level


def _are_numbers(values: list[Any], allowed: set[type], any_bool: bool) -> bool:
    """Whether adding the values up shows that they are what is allowed; a look at each takes ten times as long.

    What is no number cannot be added to one, and a single fraction makes the sum one. Booleans can.
    """
    if any_bool or int not in allowed:
        return False
    try:
        return type(sum(values)) in allowed
    except (TypeError, OverflowError):
        return False


def typed(values: list[Any], spec: TensorSpec, any_bool: bool) -> np.ndarray[Any, Any]:
    """Values as JSON gave them to an array, refusing whatever would change on the way."""
    allowed = _PYTHON_TYPES.get(spec.datatype, {int})
    # Before numpy sees them: it would make one wide string array of a stray word.
    if not _are_numbers(values, allowed, any_bool) and not set(map(type, values)) <= allowed:
        wrong = next(value for value in values if type(value) not in allowed)
        raise BadRequest(
            f"input {spec.name!r}: {spec.datatype} data cannot hold {shown(wrong)}; send values of that type"
        )
    try:
        with np.errstate(over="ignore"):
            array = np.array(values, dtype=spec.dtype)
    except OverflowError as error:
        raise BadRequest(f"input {spec.name!r}: a value does not fit {spec.datatype}") from error
    return array
