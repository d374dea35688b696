"""Real sentences: of a file, or of the pages that come with the project."""

import re
from pathlib import Path

from catalog.errors import ConfigError
from catalog.texts.labelled_texts import read_labelled

PAGES = Path(__file__).parents[2] / "docs"
LEAST_WORDS, MOST_WORDS = 3, 55
"""Sentences of a page beyond these are headings and lists that no full stop ends."""

_markup = re.compile(r"`{3}[\s\S]*?`{3}|^\|.*$|^#.*$|[`*_>]", re.MULTILINE)
_link = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_end = re.compile(r"(?<=[.!?:])\s+(?=[A-Z])|\n\s*\n")


def read_texts(path: Path | None) -> tuple[str, ...]:
    """The texts of a TSV file of texts and labels, or the sentences of the project's pages; raises `ConfigError`."""
    if path is not None:
        return read_labelled(path).texts
    pages = sorted(PAGES.glob("*.md"))
    if not pages:
        raise ConfigError(f"no pages in {PAGES}; give a TSV file of texts and labels with --texts")
    found = (sentence for page in pages for sentence in sentences(page.read_text(encoding="utf-8")))
    return tuple(dict.fromkeys(found))


def sentences(page: str) -> list[str]:
    """The sentences of a page of Markdown, without tables, headings and code."""
    plain = _markup.sub("", _link.sub(r"\1", page))
    split = (" ".join(part.split()) for part in _end.split(plain))
    return [part for part in split if LEAST_WORDS <= len(part.split()) <= MOST_WORDS]
