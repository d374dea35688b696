"""Measured accuracies of whole pipelines, by the variants of their stages."""

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from catalog.errors import ConfigError
from catalog.faults import nearest

ACCURACY = "accuracy"


def read_measured_accuracy(
    path: str | Path, stages: Sequence[str], known: Mapping[str, Collection[str]]
) -> dict[tuple[str, ...], float]:
    """Accuracies from 0 to 1 by the variants of ``stages``, in their order, of a CSV with a column for each of these.

    ``known`` has by stage the names of its variants; rows with others are of variants that are not served, and left
    out. Raises `ConfigError` naming the file, the line and the value that is wrong, and where no row is left.
    """
    file = Path(path)
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            header = reader.fieldnames or []
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(
            f"cannot read accuracies {file}: {error}; give a CSV with the columns {', '.join(stages)} and {ACCURACY}"
        ) from error
    for column in (*stages, ACCURACY):
        if column not in header:
            raise ConfigError(f"accuracies {file}: no column {column!r}{nearest(column, header)}; it has {header}")
    found: dict[tuple[str, ...], float] = {}
    for line, row in rows:
        variants = tuple(row[stage] or "" for stage in stages)
        accuracy = _accuracy(file, line, row[ACCURACY])
        if variants in found:
            raise ConfigError(f"{file}, line {line}: {', '.join(variants)} is there twice; give it once")
        if all(variant in known[stage] for stage, variant in zip(stages, variants, strict=True)):
            found[variants] = accuracy
    if not found:
        raise ConfigError(f"accuracies {file}: no row is of variants that are served; {_words(known)}")
    return found


def _words(known: Mapping[str, Collection[str]]) -> str:
    """The variants of every stage in words."""
    return "; ".join(f"stage {stage} has {', '.join(sorted(variants))}" for stage, variants in known.items())


def _accuracy(file: Path, line: int, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ConfigError(f"{file}, line {line}: accuracy is {text!r}; give a number from 0 to 1")
    return value
