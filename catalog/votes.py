"""Recorded votes: what every member of an ensemble said of labelled rows."""

import csv
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError

SPLITS = ("dev", "test")
"""``dev`` is what weights and member sets are learned from, ``test`` what they are judged by."""

MAX_CLASSES = 100_000
"""A file that names a higher class is taken to be wrong: each class costs memory, seen or not."""

Classes = NDArray[np.int64]


@dataclass(frozen=True)
class RecordedVotes:
    """The class that each of ``members`` gave to each row: ``predictions`` [rows, members], ``labels`` [rows].

    Classes are numbered from 0; there are ``classes`` of them. Raises ValueError where shapes do not fit.
    """

    members: tuple[str, ...]
    labels: Classes
    predictions: Classes
    classes: int

    def __post_init__(self) -> None:
        if self.predictions.shape != (len(self.labels), len(self.members)):
            raise ValueError(f"predictions are {self.predictions.shape}; expected rows x members")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def accuracies(self) -> Mapping[str, float]:
        """Share of rows that each member gets right."""
        right = (self.predictions == self.labels[:, None]).mean(axis=0)
        return {name: float(share) for name, share in zip(self.members, right, strict=True)}

    def of(self, members: Sequence[str]) -> "RecordedVotes":
        """The same rows with these members only, in this order; raises KeyError for an unknown one."""
        index = {name: column for column, name in enumerate(self.members)}
        return RecordedVotes(
            tuple(members), self.labels, self.predictions[:, [index[name] for name in members]], self.classes
        )

    def take(self, rows: NDArray[np.int64]) -> "RecordedVotes":
        """These rows only."""
        return RecordedVotes(self.members, self.labels[rows], self.predictions[rows], self.classes)


def read_votes(path: str | Path) -> dict[str, RecordedVotes]:
    """Votes by split, from a CSV with columns ``split``, ``label`` and one of predicted classes per member.

    Raises `ConfigError` naming the file, the line and the value that is wrong.
    """
    file = Path(path)
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read votes {file}: {error}; give a CSV of split, label and members") from error
    members = _members(file, header)
    label_column = header.index("label")
    split_column = header.index("split")
    columns = [header.index(member) for member in members]
    labels: dict[str, list[int]] = {}
    predictions: dict[str, list[list[int]]] = {}
    for line, row in rows:
        if len(row) != len(header):
            raise ConfigError(f"{file}, line {line}: {len(row)} values; the header has {len(header)} columns")
        split = row[split_column]
        if split not in SPLITS:
            raise ConfigError(f"{file}, line {line}: split {split!r} is unknown; use {' or '.join(SPLITS)}")
        labels.setdefault(split, []).append(_class(file, line, "label", row[label_column]))
        said = [_class(file, line, header[column], row[column]) for column in columns]
        predictions.setdefault(split, []).append(said)
    if not labels:
        raise ConfigError(f"votes {file} have no rows; record some")
    classes = 1 + max(max(max(labels[split]), max(max(row) for row in predictions[split])) for split in labels)
    return {
        split: RecordedVotes(
            members, np.array(labels[split], np.int64), np.array(predictions[split], np.int64), max(2, classes)
        )
        for split in labels
    }


def write_votes(path: str | Path, votes: Mapping[str, RecordedVotes]) -> None:
    """Write votes by split, all of the same members, as `read_votes` reads them: the whole file, or OSError."""
    target = Path(path)
    with tempfile.TemporaryDirectory(prefix=".votes-", dir=target.parent) as folder:
        written = Path(folder) / target.name
        with written.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines, lineterminator="\n")
            first = next(iter(votes.values()))
            writer.writerow(("split", "label", *first.members))
            for split, recorded in votes.items():
                for label, said in zip(recorded.labels.tolist(), recorded.predictions.tolist(), strict=True):
                    writer.writerow((split, label, *said))
        os.replace(written, target)


def _members(file: Path, header: list[str]) -> tuple[str, ...]:
    missing = [column for column in ("split", "label") if column not in header]
    if missing:
        raise ConfigError(f"votes {file}: no column {' and '.join(missing)}; the header is {','.join(header)!r}")
    members = tuple(column for column in header if column not in ("split", "label"))
    if not all(members):
        raise ConfigError(f"votes {file}: a member has no name; the header is {','.join(header)!r}")
    if not members:
        raise ConfigError(f"votes {file}: no member; add one column of predicted classes per member")
    if len(set(header)) != len(header):
        raise ConfigError(f"votes {file}: columns must be unique; the header is {','.join(header)!r}")
    return members


def _class(file: Path, line: int, column: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not 0 <= value < MAX_CLASSES:
        raise ConfigError(
            f"{file}, line {line}: {column} is {text!r}; classes are whole numbers from 0 to {MAX_CLASSES - 1}"
        )
    return value
