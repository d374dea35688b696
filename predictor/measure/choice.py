"""Which configurations to measure."""

import csv
import json
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path
from random import Random
from typing import Any

from catalog.errors import ConfigError

Variants = tuple[str, ...]
"""Of one configuration, in the order of their names."""

_LISTED = 5000
_DRAWN = 32


def draw(names: Collection[str], degree: int, number: int, repeats: int, seed: int) -> list[Variants]:
    """``number`` different multisets of 2 to ``degree`` variants, then ``repeats`` of them once more.

    All degrees and all variants are about equally often among them, as far as there are enough; no multiset more
    often than another. Raises `ConfigError` where there are fewer.
    """
    rng = Random(seed)
    ordered = sorted(names)
    degrees = range(2, degree + 1)
    there_are = sum(_possible(ordered, each) for each in degrees)
    if number > there_are or repeats > number:
        raise ConfigError(
            f"{number} configurations with {repeats} repeats cannot be drawn: {len(ordered)} variants have {there_are} "
            f"configurations of degree 2 to {degree}, and each is repeated once at most; "
            + ("ask for fewer" if number > there_are else "lower --repeats")
        )
    drawn: list[Variants] = []
    seen: set[Variants] = set()
    used: Counter[str] = Counter()
    of_degree: Counter[int] = Counter()
    for _ in range(number):
        left = [each for each in degrees if of_degree[each] < _possible(ordered, each)]
        chosen = min(left, key=lambda each: (of_degree[each], -each))
        variants = min(_candidates(ordered, chosen, seen, rng), key=lambda each: sum(used[name] for name in each))
        drawn.append(variants)
        seen.add(variants)
        used.update(variants)
        of_degree[chosen] += 1
    return drawn + rng.sample(drawn, repeats)


def _possible(names: Sequence[str], degree: int) -> int:
    return comb(len(names) + degree - 1, degree)


def _candidates(names: Sequence[str], degree: int, seen: Collection[Variants], rng: Random) -> list[Variants]:
    """Some that were not drawn yet, in random order; at least one, if there is one."""
    if _possible(names, degree) <= _LISTED:
        left = [each for each in combinations_with_replacement(names, degree) if each not in seen]
        return rng.sample(left, min(_DRAWN, len(left)))
    found: list[Variants] = []
    while len(found) < _DRAWN:
        variants = tuple(sorted(rng.choice(names) for _ in range(degree)))
        if variants not in seen:
            found.append(variants)
    return found


def read_choice(path: Path, names: Collection[str]) -> list[Variants]:
    """Configurations from a file: a JSON list of lists of variants, or a CSV with columns configuration and variant.

    Rows of a CSV with the same configuration, and the same machine where there is such a column, are one. One that
    stands there twice is measured twice. Raises `ConfigError` where the file cannot be read, or names a variant that is
    not among ``names``.
    """
    try:
        text = path.read_text(encoding="utf-8")
        listed = json.loads(text) if path.suffix == ".json" else _of_rows(list(csv.DictReader(text.splitlines())))
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(
            f"cannot read configurations {path}: {error}; give a JSON list of lists of variants, or a CSV with the "
            "columns configuration and variant"
        ) from error
    if not isinstance(listed, list) or not all(map(_is_configuration, listed)):
        raise ConfigError(f"{path} is no list of lists of variants; such as [['a', 'b'], ['a', 'a', 'c']]")
    if not listed:
        raise ConfigError(f"{path} names no configuration; give some, such as [['a', 'b'], ['a', 'a', 'c']]")
    unknown = sorted({str(name) for each in listed for name in each} - set(names))
    if unknown:
        raise ConfigError(f"{path}: no variant {unknown[0]!r}; the catalogues have {', '.join(sorted(names))}")
    return [tuple(sorted(each)) for each in listed]


def _is_configuration(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def _of_rows(rows: Sequence[dict[str, str]]) -> list[list[str]]:
    found: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        found.setdefault((row["configuration"], row.get("machine")), []).append(row["variant"])
    return list(found.values())
