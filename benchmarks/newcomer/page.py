"""The code blocks of a page, and what a reader does with them."""

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "your-code.md"

_BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block: shell commands (``bash``), or text that goes into ``file``."""

    language: str
    file: str
    text: str


def blocks_of(page: Path, heading: str) -> tuple[Block, ...]:
    """The blocks below a heading, up to the next, in their order; raises ValueError where there are none."""
    _, found, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    section = rest.partition("\n## ")[0]
    blocks = tuple(Block(each["language"], each["file"] or "", each["text"]) for each in _BLOCK.finditer(section))
    if not found or not blocks:
        raise ValueError(f"{page} has no blocks below the heading {heading!r}")
    return blocks


def commands(block: Block) -> list[str]:
    """The lines of a shell block."""
    return [line for line in block.text.splitlines() if line.strip()]


def put_in(block: Block, folder: Path) -> None:
    """Edit a file of a project as the page says: Python and entries of the catalogue at its end, else a line anew.

    Raises ValueError where no line of the file begins as the block does.
    """
    path = folder / block.file
    text = path.read_text(encoding="utf-8")
    if block.file != "serve.yaml":
        path.write_text(text + block.text, encoding="utf-8")
        return
    (line,) = block.text.splitlines()
    key = line.partition(":")[0]
    changed, count = re.subn(rf"^{re.escape(key)}:.*$", line, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{path} has {count} lines that begin with {key!r}")
    path.write_text(changed, encoding="utf-8")
