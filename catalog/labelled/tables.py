"""Files of labelled data as columns by name: npz, CSV, Parquet, Arrow, and folders of Hugging Face data sets."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import orjson

from catalog.errors import ConfigError
from catalog.extras import require

TABLES = (".csv", ".parquet", ".arrow")
INFO = "dataset_info.json"
"""What `datasets.save_to_disk` says of the columns."""

CLASS_NAMES = "\0class names"
"""Key of the names of classes by column, where a data set has them; no column is called so."""

SHARD = re.compile(r"(?P<split>.+?)-\d+-of-\d+")
"""Beginning of the name of one of several files of a split, as the Hub names them."""

NUMBER = re.compile(r"(^|[._])\d+$")
"""End of the name of one of several files that says which: ``0000.parquet``, ``part.0.parquet``."""

CELL_CHARACTERS = 2**31 - 1
"""Longest cell of a CSV, the most that csv takes on every platform; csv's own limit is 131,072."""

Table = dict[str, Any]


def table_files(path: Path) -> list[Path]:
    """The files of a table: itself, or those of a folder (``save_to_disk``, or Parquet files as on the Hub).

    Of a folder with several splits one has to be chosen: raises `ConfigError` with their names.
    """
    if path.is_file():
        return [path] if path.suffix in TABLES else []
    here = sorted(file for file in path.iterdir() if file.suffix in (".arrow", ".parquet"))
    here = [file for file in here if not file.name.startswith("cache-")]
    if here:
        splits = sorted({_split(file.stem) for file in here if file.suffix == ".parquet"})
        if len(splits) > 1:
            raise ConfigError(f"{path} holds the splits {', '.join(splits)}; give the file of one")
        return here
    below = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and table_files(folder)]
    if len(below) > 1:
        raise ConfigError(f"{path} holds {', '.join(each.name for each in below)}; give one of these folders")
    return table_files(below[0]) if below else []


def _split(stem: str) -> str:
    """The split that a file belongs to, by its name without the ending: what stands before the number of the file."""
    shard = SHARD.match(stem)
    return shard["split"] if shard else NUMBER.sub("", stem.partition("-")[0])


def read_table(path: Path) -> Table:
    """Columns by name; raises `ConfigError` for a file that cannot be read."""
    if path.suffix == ".npz":
        return _npz(path)
    files = table_files(path)
    if files == [path] and path.suffix == ".csv":
        return _csv(path)
    return _arrow(path, files)


def _npz(path: Path) -> Table:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, TypeError, BadZipFile, EOFError) as error:
        raise ConfigError(f"cannot read {path}: {error}; write it with numpy.savez, without object arrays") from error


def _csv(path: Path) -> Table:
    limit = csv.field_size_limit(CELL_CHARACTERS)
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path}: {error}; give a CSV with a header") from error
    finally:
        csv.field_size_limit(limit)
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise ConfigError(f"{path} has several columns {twice[0]!r}; rename or remove all but one")
    for line, row in rows:
        if len(row) != len(header):
            raise ConfigError(f"{path}, line {line}: {len(row)} values; the header has {len(header)} columns")
    return {name: [row[index] for _, row in rows] for index, name in enumerate(header)}


def _arrow(path: Path, files: Sequence[Path]) -> Table:
    require("evaluate", f"reading {path}")
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        parts = [parquet.read_table(file) if file.suffix == ".parquet" else _arrow_file(file) for file in files]
        table = pa.concat_tables(parts, promote_options="default")
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"cannot read {path}: {error}; give Parquet or Arrow files of one schema") from error
    columns: Table = {name: table.column(name).to_pylist() for name in table.column_names}
    columns[CLASS_NAMES] = _class_names(files[0].parent, table.schema.metadata)
    return columns


def _arrow_file(file: Path) -> Any:
    import pyarrow as pa

    with pa.memory_map(str(file)) as source:
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()


def _class_names(folder: Path, metadata: Any) -> dict[str, tuple[str, ...]]:
    """By column the names of its classes, where the data set says them: beside the files, or in their schema."""
    described: Any = {}
    if (folder / INFO).is_file():
        described = _info(folder / INFO)
    elif metadata and b"huggingface" in metadata:
        described = orjson.loads(metadata[b"huggingface"]).get("info", {})
    features = described.get("features") or {}
    named = {column: feature.get("names") for column, feature in features.items() if isinstance(feature, dict)}
    return {column: tuple(map(str, names)) for column, names in named.items() if names}


def _info(path: Path) -> dict[str, Any]:
    """What a data set says of itself; raises `ConfigError` where the file is damaged."""
    try:
        described = orjson.loads(path.read_bytes())
        if not isinstance(described, dict):
            raise ValueError(f"it holds a {type(described).__name__}, no mapping")
        if not isinstance(described.get("features") or {}, dict):
            raise ValueError("its `features` are no mapping")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {path}: {error}; restore or remove it") from error
    return described
