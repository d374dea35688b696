"""The reference of the config in docs/configuration.md, from the schema: ``python -m serve_app.config.reference``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import orjson
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from serve_app.config.schema import AppConfig

BEGIN, END = "<!-- made by serve_app.config.reference -->", "<!-- end -->"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def sections(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Every section with its path, the outer ones first; ``NAME`` and ``[]`` stand for keys and numbers."""
    yield path, model
    for name, field in model.model_fields.items():
        inner, suffix = _section_of(field.annotation)
        if inner is not None:
            yield from sections(inner, f"{path}.{name}{suffix}".lstrip("."))


def table(model: type[BaseModel]) -> str:
    """The fields of one section as a Markdown table."""
    rows = [
        f"| `{name}` | {_default(field)} | {_allowed(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
    ]
    return "\n".join(["| field | default | allowed | meaning |", "|---|---|---|---|", *rows])


def reference() -> str:
    """All sections, one table each."""
    parts = [f"### {path or 'args'}\n\n{table(model)}\n" for path, model in sections(AppConfig)]
    return "\n".join(parts)


def with_reference(page: str) -> str:
    """The page with the reference between its marks; raises ValueError where it has no marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"the page has no {BEGIN} with {END} after it")
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def _section_of(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The section that a field holds, and what its path gets for keys or numbers."""
    suffix = ""
    while True:
        others = [each for each in get_args(annotation) if each not in (NoneType, Ellipsis)]
        if get_origin(annotation) in (dict, tuple, list):
            suffix = ".NAME" if get_origin(annotation) is dict else "[]"
            annotation = others[-1]
        elif NoneType in get_args(annotation) and len(others) == 1:
            annotation = others[0]
        else:
            found = isinstance(annotation, type) and issubclass(annotation, BaseModel)
            return (annotation if found else None), suffix


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "by policy" if field.annotation is str else "`{}`"
    if isinstance(field.default, BaseModel):
        return "below"
    return f"`{orjson.dumps(field.default).decode()}`"


def _allowed(field: FieldInfo) -> str:
    """The bounds of a number."""
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    found = [
        f"{sign} {bound:g}"
        for meta in field.metadata
        for name, sign in signs.items()
        if (bound := getattr(meta, name, None)) is not None
    ]
    return ", ".join(found)


def main() -> None:
    """Write the reference into the page."""
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE} is up to date\n")


if __name__ == "__main__":
    main()
