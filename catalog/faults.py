"""What is wrong with a file or a request that pydantic refused, in words for who wrote it."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

LONGEST = 60
"""Characters of a value that are shown."""

KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "dataclass_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "finite_number": "a finite number",
}
"""What pydantic wanted, by its name for the fault."""

BOUNDS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}


def describe(error: ValidationError, model: type[Any] | None = None) -> str:
    """One sentence per fault: the field's path, the value given, what is allowed and the nearest known name.

    ``model`` is what was validated; without it, nothing is known of other fields.
    """
    faults = [fault for fault in error.errors() if fault["type"] != "default_factory_not_called"]  # follows from others
    return "; ".join(_sentence(fault, model) for fault in faults)


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'workers'?)``, with the space, where a known name is like that; else nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _sentence(fault: ErrorDetails, model: type[Any] | None) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    path, given = _path(fault["loc"]), _shown(fault["input"])
    if kind == "missing":
        return f"{path} is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _known_fields(model, fault["loc"][:-1])
        words = f"{path} is unknown{nearest(str(fault['loc'][-1]), known)}"
        return f"{words}; known here: {', '.join(known)}" if known else words
    if kind in KINDS:
        return f"{path} is {given}; give {KINDS[kind]}"
    bound = next((name for name in BOUNDS if name in context), None)
    if bound is not None:
        limit = context[bound]
        return f"{path} is {given}; give a number {BOUNDS[bound]} {limit if isinstance(limit, int) else f'{limit:g}'}"
    if kind in ("too_short", "too_long"):
        least = context.get("min_length")
        wanted = f"at least {least}" if least is not None else f"at most {context.get('max_length')}"
        return f"{path} has {context.get('actual_length')} entries; give {wanted}"
    if kind == "string_pattern_mismatch":
        return f"{path} is {given}; give text that matches {context['pattern']}"
    if kind == "literal_error":
        return f"{path} is {given}; use one of {context['expected'].replace(' or ', ', ')}"
    if "error" not in context:
        return f"{path} is {given}: {fault['msg']}"
    return f"{path}: {context['error']}" if fault["loc"] else str(context["error"])


def _path(parts: tuple[int | str, ...]) -> str:
    words = ""
    for part in parts:
        if isinstance(part, int):
            words += f"[{part}]"
        elif part != "[key]":  # the part before is the key itself
            words += f".{part}" if words else part
    return words or "this"


def _shown(value: Any) -> str:
    """A value, but not what a whole section says."""
    if isinstance(value, Mapping):
        return f"a mapping of {len(value)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    words = repr(value)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."


def _known_fields(model: Any, path: tuple[int | str, ...]) -> list[str]:
    """The fields of the section at a path; empty where that is not known."""
    for part in path:
        model = _member(model, part)
    model = _only(model)
    if is_dataclass(model):
        return [_written_name(model, field.name) for field in fields(model)]
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _written_name(model: Any, field: str) -> str:
    """What a field is called in a file: its alias, where Python has taken the name for itself."""
    described = getattr(model, "__pydantic_fields__", {}).get(field)
    return getattr(described, "serialization_alias", None) or field


def _member(annotation: Any, part: int | str) -> Any:
    annotation = _only(annotation)
    if is_dataclass(annotation) and isinstance(annotation, type):
        return get_type_hints(annotation).get(str(part))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return None if field is None else field.annotation
    arguments = get_args(annotation)
    return arguments[-1 if get_origin(annotation) is dict else 0] if arguments else None


def _only(annotation: Any) -> Any:
    """Of an optional type, the type."""
    others = [each for each in get_args(annotation) if each is not NoneType]
    return others[0] if NoneType in get_args(annotation) and len(others) == 1 else annotation
