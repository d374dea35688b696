"""What a class of the user's has to look like, told from the signatures of its methods."""

from collections.abc import Mapping
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any

ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType({"setup": ("device",), "predict": ("inputs",)})
"""Methods by name, and what they are called with, by position."""

THREADS = "threads"
"""What ``setup`` may take by name beside the device: how many threads a run may compute with."""

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def signature_fault(method: str, signature: Signature) -> str | None:
    """Why a method cannot be called as it is going to be, with how to write it; None where it can.

    ``signature`` is without ``self``.
    """
    try:
        signature.bind(*ARGUMENTS[method], **extras(method, signature))
    except TypeError as error:
        wanted = ", ".join(("self", *ARGUMENTS[method]))
        return f"{method}{signature} cannot be called: {error}; write `def {method}({wanted}):`"
    return None


def extras(method: str, signature: Signature, threads: int = 1) -> dict[str, Any]:
    """What a method takes by name beside its `ARGUMENTS`."""
    takes = signature.parameters.get(THREADS) if method == "setup" else None
    if takes is None or (takes.kind in _POSITIONAL and next(iter(signature.parameters)) == THREADS):
        return {}
    return {THREADS: threads}


def options_fault(name: str, signature: Signature, options: Mapping[str, Any]) -> str | None:
    """Why a class cannot be made with the variant's options as keyword arguments; None where it can."""
    try:
        signature.bind(**options)
    except TypeError as error:
        given = ", ".join(options) or "none"
        return f"{name}{signature} cannot be made with the variant's options ({given}): {error}"
    return None
