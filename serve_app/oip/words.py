"""How values of a client are shown in messages."""

import reprlib
from typing import Any

from catalog.tensor import TensorSpec


def names(specs: tuple[TensorSpec, ...]) -> str:
    """Tensors as a message lists them."""
    return ", ".join(f"{spec.name!r} ({spec.datatype} {list(spec.shape)})" for spec in specs)


def shown(value: Any) -> str:
    """A client's value in a message: short, however long or deep it is."""
    return reprlib.repr(value)


def kind(value: Any) -> str:
    """What a JSON value is."""
    kinds = {
        type(None): "nothing",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    if value == []:
        return "an empty list"
    return kinds.get(type(value), "an object")
