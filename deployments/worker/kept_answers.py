"""Files that answers are kept in: a folder for each variant, with chunks of rows."""

import hashlib
import io
from pathlib import Path

import numpy as np

from catalog.tensor import Arrays
from deployments.state.durable_file import PARTIAL, write_durably

SUFFIX = ".npz"

LONGEST_BYTES = 150
"""Of a folder's name; file systems take 255 at most."""

READABLE = 60
"""Characters of a variant's name in a folder that cannot be called as the variant is."""


def folder_name(variant: str) -> str:
    """What the folder of a variant is called: its name, or where that is no name of one folder, or long, what can be
    read of it and a digest."""
    is_one = variant not in ("", ".", "..") and variant.isprintable() and "/" not in variant and "\\" not in variant
    if is_one and len(variant.encode()) <= LONGEST_BYTES:
        return variant
    readable = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in variant[:READABLE])
    return f"{readable}-{hashlib.sha256(variant.encode(errors='surrogatepass')).hexdigest()[:12]}"


def chunk_path(folder: Path, start: int) -> Path:
    """The file of the rows from ``start`` on."""
    return folder / f"{start:09d}{SUFFIX}"


def forget(folder: Path) -> None:
    """Remove all chunks of a folder, and what killed writers left of some."""
    for kept in (*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{PARTIAL}")):
        kept.unlink(missing_ok=True)


def save_chunk(path: Path, outputs: Arrays) -> None:
    """Write a chunk whole; texts as numpy has them without pickling. Raises OSError that names the file."""
    plain = {name: array.astype(str) if array.dtype == object else array for name, array in outputs.items()}
    content = io.BytesIO()
    np.savez(content, **plain)  # type: ignore[arg-type]
    write_durably(path, content.getvalue())


def load_chunk(path: Path) -> Arrays | None:
    """What was kept; None where there is nothing, or it is damaged."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in file.items()}
    except Exception:  # of a damaged file numpy, zipfile and zlib raise whatever they stumble over
        return None
