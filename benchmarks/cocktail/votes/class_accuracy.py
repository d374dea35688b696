"""How often each member is right, by class of the input."""

import csv
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from catalog.errors import ConfigError

IMAGES = 50
"""Validation images per class of ImageNet: a file's counts are of so many."""

COLUMNS = ("variant", "class_wnid", "correct_of_50")

HARD_CLASSES = 0.9
"""Deviation of a class's difficulty among classes, in log-odds, where it is drawn; what the file's classes show."""

FILE_NAMES = {"MobileNet": "MobileNetV1"}
"""Models that files call otherwise than Cocktail's Table 1."""

OWN_STRENGTH = 0.25
"""Deviation of a member's own strength in a class around that, in log-odds."""


@dataclass(frozen=True, eq=False)
class ClassAccuracy:
    """``correct`` [classes, members] is the probability (above 0, below 1) that a member is right in a class."""

    members: tuple[str, ...]
    correct: NDArray[np.float64]

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.correct)

    def at(self, accuracy: Mapping[str, float]) -> "ClassAccuracy":
        """The same differences between classes at other mean accuracies: a shift of each member's log-odds.

        ``accuracy`` names the members of the result, each 0 to 1. One that is not there has the classes of another, as
        `stand_ins` says.
        """
        own = dict(zip(self.members, self.correct.T, strict=True))
        taken = self.stand_ins(accuracy)
        columns = [_shifted(own[taken.get(name, name)], wanted) for name, wanted in accuracy.items()]
        return ClassAccuracy(tuple(accuracy), np.column_stack(columns))

    def stand_ins(self, accuracy: Mapping[str, float]) -> dict[str, str]:
        """By each name that is none of the members, the member that is nearest to it in accuracy."""
        means = dict(zip(self.members, self.correct.mean(axis=0).tolist(), strict=True))
        return {
            name: min(means, key=lambda each: abs(means[each] - wanted))
            for name, wanted in accuracy.items()
            if name not in means
        }


def read_class_accuracy(path: Path) -> ClassAccuracy:
    """Read a CSV with the columns variant, class_wnid and correct_of_50; members have the names of Table 1.

    A class where a member was right k times of 50 has (k + 1/2) / 51, since none is sure. Raises `ConfigError` for a
    file that cannot be used, such as one where a member misses a class.
    """
    counts: dict[str, dict[str, int]] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if missing := [column for column in COLUMNS if column not in (reader.fieldnames or ())]:
                raise ConfigError(f"{path} has no column {', '.join(missing)}; give {', '.join(COLUMNS)}")
            for row in reader:
                variant, name, count = (row[column] for column in COLUMNS)
                counts.setdefault(variant, {})[name] = _count(f"{path}, line {reader.line_num}", count)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path}: {error}; give a CSV with {', '.join(COLUMNS)}") from error
    names = sorted({name for own in counts.values() for name in own})
    if len(names) < 2:
        raise ConfigError(f"{path} has {len(names)} classes; give two or more")
    for member, own in counts.items():
        if missing := [name for name in names if name not in own]:
            raise ConfigError(f"{path}: {member!r} has no count for {len(missing)} classes, {missing[0]!r} among them")
    correct = np.array([[(counts[member][name] + 0.5) / (IMAGES + 1) for member in counts] for name in names])
    return ClassAccuracy(tuple(_table_name(member, counts) for member in counts), correct)


def _table_name(member: str, members: Container[str]) -> str:
    own = FILE_NAMES.get(member, member)
    return member if own in members else own


def _count(where: str, text: str | None) -> int:
    count = int(text) if text is not None and text.strip().isdecimal() else IMAGES + 1
    if count > IMAGES:
        raise ConfigError(f"{where}: {COLUMNS[-1]} is {text!r}; give a whole number from 0 to {IMAGES}")
    return count


def synthetic_class_accuracy(accuracy: Mapping[str, float], classes: int, seed: int) -> ClassAccuracy:
    """Members of these mean accuracies over classes that are hard or easy for all, and a little for each alone."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, HARD_CLASSES, size=(classes, 1))
    odds = difficulty + rng.normal(0.0, OWN_STRENGTH, size=(classes, len(accuracy)))
    return ClassAccuracy(tuple(accuracy), expit(odds)).at(accuracy)


def _shifted(correct: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    odds = logit(correct)
    shift = brentq(lambda by: float(expit(odds + by).mean()) - mean, -10.0, 10.0)
    return np.asarray(expit(odds + shift))
