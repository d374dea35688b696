"""The file beside a catalogue that says what was measured of its variants: written by ``accord evaluate``."""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from catalog.artifacts.counted import files_beside, own_file
from catalog.errors import ConfigError
from catalog.evaluation.interval import wilson
from catalog.evaluation.measured import Measured
from catalog.faults import describe
from catalog.store import checksum
from catalog.variant import Variant

logger = logging.getLogger(__name__)

SUFFIX = ".accuracy.json"

DIGITS = 4
"""Of accuracies in files."""


class MeasuredVariant(BaseModel):
    """What was measured of one variant; ``of`` says what exactly was run, and how its answers were read (`identity`).

    ``classes`` has precision, recall, F1 and examples by class, where answers name classes.
    """

    model_config = ConfigDict(extra="forbid")
    of: str
    accuracy: float = Field(ge=0, le=1)
    measured: Measured
    classes: dict[str, dict[str, float]] = {}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: int = 1
    variants: dict[str, MeasuredVariant] = {}
    votes: dict[str, str] = {}
    voters: dict[str, dict[str, str]] = {}


@dataclass(frozen=True)
class MeasuredAccuracies:
    """By name what was measured of variants, and by task the file of their recorded votes, relative to this one.

    ``voters`` has, by task and member, the `identity` of what gave these votes; a file that an older version wrote has
    none, and its votes are taken to be those of the variants as they are.
    """

    variants: Mapping[str, MeasuredVariant] = field(default_factory=dict)
    votes: Mapping[str, str] = field(default_factory=dict)
    voters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def accuracy_path(catalogue: Path) -> Path:
    """Where the measured accuracies of a catalogue's variants stand: ``models.yaml`` has ``models.accuracy.json``."""
    return catalogue.with_name(catalogue.stem + SUFFIX)


def fingerprint(variant: Variant, root: str) -> str:
    """A digest of all that a variant's outputs depend on; reads the artifact where it is local and has no checksum.

    The files of `files_beside` count by their names and content, wherever they are.
    """
    artifact, local = variant.artifact, own_file(variant, root)
    if artifact.sha256 is None and local is not None and local.exists():
        content = checksum(local)
    else:
        content = artifact.sha256 or repr(artifact)
    options = json.dumps(variant.options, sort_keys=True, default=str)
    beside = sorted(f"{file.name} {checksum(file)}" for file in files_beside(variant, root))
    return hashlib.sha256(" ".join((variant.runtime, options, content, *beside)).encode()).hexdigest()


def identity(variant: Variant, root: str) -> str:
    """All that a measured accuracy or a recorded vote of a variant depends on: two digests with a blank between them.

    The first is the `fingerprint`, what it answers; the second is of its labels and outputs, how answers are read.
    Files of older versions have the first alone.
    """
    return f"{fingerprint(variant, root)} {answers_digest(variant)}"


def answers_digest(variant: Variant) -> str:
    """A digest of what the answers of a variant are called: its labels and outputs."""
    content = json.dumps([list(variant.labels), [spec.oip() for spec in variant.outputs]])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_accuracies(path: Path) -> MeasuredAccuracies:
    """The content of such a file, nothing where there is none; raises `ConfigError` for one that is not right."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return MeasuredAccuracies()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    try:
        found = _File.model_validate_json(content)
    except ValidationError as error:
        raise ConfigError(
            f"measured accuracies {path}: {describe(error, _File)}; write them anew with `accord evaluate`"
        ) from error
    return MeasuredAccuracies(found.variants, found.votes, found.voters)


def write_accuracies(path: Path, found: MeasuredAccuracies) -> None:
    """Write the file, whole; raises `ConfigError` where it cannot be written."""
    voters = {task: dict(own) for task, own in found.voters.items()}
    body = _File(variants=dict(found.variants), votes=dict(found.votes), voters=voters).model_dump(mode="json")
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            file.write(json.dumps(body, indent=1) + "\n")
        Path(file.name).chmod(0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}; name another --accuracy-file") from error


def measured_share(variant: Variant, root: str, share: float, examples: int, data: str) -> MeasuredVariant:
    """A share of right answers that was counted on so many examples, with Wilson's interval."""
    low, high = (round(each, DIGITS) for each in wilson(share * examples, examples))
    measured = Measured("accuracy", low, high, examples, data)
    return MeasuredVariant(of=identity(variant, root), accuracy=round(share, DIGITS), measured=measured)


def identities(variants: Iterable[Variant], root: str, found: MeasuredAccuracies) -> dict[str, str]:
    """By name the `identity` of each variant as it is now, of those that something was measured or recorded of."""
    known = {*found.variants, *(name for own in found.voters.values() for name in own)}
    return {variant.name: identity(variant, root) for variant in variants if variant.name in known}


def outdated_votes(
    voters: Mapping[str, Mapping[str, str]], now: Mapping[str, str], where: Any
) -> dict[str, frozenset[str]]:
    """By task the variants of another `identity` than what gave their recorded votes, with a warning.

    ``voters`` are as in `MeasuredAccuracies`, and ``now`` the `identities` of the variants.
    """
    outdated = {}
    for task, own in voters.items():
        changed = frozenset(name for name, of in own.items() if name in now and of != now[name])
        if changed:
            outdated[task] = changed
            logger.warning(
                "The votes of %s that %s names were recorded %s, and are not used. Run `accord evaluate` again for all "
                "variants of task %s.",
                ", ".join(sorted(changed)),
                where,
                _since([(own[name], now[name]) for name in changed]),
                task,
            )
    return outdated


def with_measured(
    variants: Iterable[Variant], found: MeasuredAccuracies, now: Mapping[str, str], where: Any
) -> tuple[Variant, ...]:
    """The variants with the accuracies that were measured of them; those that have changed since keep their own.

    ``now`` are their `identities`.
    """
    return tuple(
        variant if (own := found.variants.get(variant.name)) is None else _with_own(variant, own, now, where)
        for variant in variants
    )


def _with_own(variant: Variant, own: MeasuredVariant, now: Mapping[str, str], where: Any) -> Variant:
    if own.of != now[variant.name]:
        logger.warning(
            "The accuracy of variant %s in %s was measured %s; its declared accuracy %s holds. Run `accord evaluate` "
            "again.",
            variant.name,
            where,
            _since([(own.of, now[variant.name])]),
            variant.accuracy,
        )
        return variant
    return replace(variant, accuracy=own.accuracy, measured=own.measured)


def _since(pairs: Iterable[tuple[str, str]]) -> str:
    """In words why what was measured does not count, from identities in a file and those of the variants now."""
    if all(f"{of} " == now[: len(of) + 1] for of, now in pairs):
        return "by an older version of Accord, which did not note of what labels and outputs"
    return "of another model, or with other options, labels or outputs"
