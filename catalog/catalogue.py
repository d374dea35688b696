"""The catalogue file: which variants exist."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from catalog.errors import ConfigError
from catalog.evaluation.accuracy_file import (
    accuracy_path,
    identities,
    outdated_votes,
    read_accuracies,
    with_measured,
)
from catalog.extras import require
from catalog.faults import describe
from catalog.variant import Variant
from catalog.yaml_file import read_yaml

BUILTIN = Path(__file__).parent / "zoo" / "catalogue.yaml"
"""The catalogue of the built-in zoo, which the name ``builtin`` stands for."""

SENTIMENT = "sentiment"
"""Stands for the catalogue of `catalog.zoo.sentiment`, which is built when it is first used."""

NAMED = ("builtin", SENTIMENT)
"""Catalogues that come with Accord; every other one is a file."""

OnProgress = Callable[[str, float], object]
"""Called with what is being built and the share, 0 to 1, of all the work that is done."""


class _CatalogueFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: int = 1
    variants: list[Variant]
    votes: dict[str, str] = {}
    pipelines: dict[str, str] = {}


@dataclass(frozen=True)
class Catalogue:
    """All variants that one catalogue file names; ``root`` is what relative artifact paths start from.

    ``votes`` has, by task, the file of votes that were recorded of its variants (`catalog.votes`), where there is one,
    and ``pipelines``, by name, the file of accuracies that were measured of a whole pipeline
    (`catalog.measured_accuracy`). ``outdated`` has, by file of votes, the variants that are another model by now than
    the one that gave the votes there.
    """

    variants: tuple[Variant, ...]
    root: str
    votes: Mapping[str, str] = field(default_factory=dict)
    pipelines: Mapping[str, str] = field(default_factory=dict)
    outdated: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [variant.name for variant in self.variants]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ConfigError(f"variant names must be unique; the catalogue repeats {', '.join(doubled)}")
        for task in self.tasks:
            _check_interchangeable(task, self.of_task(task))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Task names in the order in which the file first names them."""
        return tuple(dict.fromkeys(variant.task for variant in self.variants))

    def of_task(self, task: str) -> tuple[Variant, ...]:
        """Variants of ``task``; raises `ConfigError` with the known tasks where there is none."""
        found = tuple(variant for variant in self.variants if variant.task == task)
        if not found:
            raise ConfigError(f"no variant does task {task!r}; the catalogue has {', '.join(self.tasks) or 'no tasks'}")
        return found

    def variant(self, name: str) -> Variant:
        """The variant of that name; raises `ConfigError` with the known names where there is none."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise ConfigError(f"no variant {name!r}; the catalogue has {', '.join(v.name for v in self.variants)}")


def _check_interchangeable(task: str, variants: Iterable[Variant]) -> None:
    """Variants of one task must take and give the same tensors, since any of them may answer a query.

    Of variants that take texts, some may leave lengths out: what those cost does not depend on them.
    """
    first, *others = variants
    for other in others:
        if (other.inputs, other.outputs, other.labels) != (first.inputs, first.outputs, first.labels):
            raise ConfigError(
                f"variants {first.name!r} and {other.name!r} both do task {task!r} but differ in inputs, outputs or "
                "labels; give them the same tensors or different tasks"
            )
    declared = [variant for variant in (first, *others) if variant.lengths is not None]
    for other in declared:
        if other.lengths != declared[0].lengths:
            raise ConfigError(
                f"variants {declared[0].name!r} and {other.name!r} both do task {task!r} but differ in lengths; "
                "any of them may get a query, so give them the same"
            )


def load_catalogue(path: str | Path, on_progress: OnProgress | None = None) -> Catalogue:
    """Read a catalogue from a YAML file; ``builtin`` and ``sentiment`` name those that come with Accord.

    Accuracies that were measured, and votes recorded with them, are those of the file beside it
    (`catalog.evaluation.accuracy_file`), with a warning where a variant has changed since; votes that the catalogue
    names itself come first. ``sentiment`` is built where that has not been done yet, which ``on_progress`` hears of.
    Raises `ConfigError` naming the file, the field and the value that are wrong, and `ArtifactError` where what is
    built from cannot be had.
    """
    file = _located(str(path), on_progress)
    content = read_yaml(file, f"catalogue {file}", "the path of a YAML file, 'builtin' or 'sentiment'")
    try:
        parsed = _CatalogueFile.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"catalogue {file}: {describe(error, _CatalogueFile)}") from error
    typed = next((variant.name for variant in parsed.variants if variant.measured is not None), None)
    if typed is not None:
        raise ConfigError(
            f"catalogue {file}: variant {typed!r} has `measured`, which is not typed in; remove it and run "
            f"`accord evaluate`, which writes {accuracy_path(file).name}"
        )
    root, beside = str(file.parent), accuracy_path(file)
    found = read_accuracies(beside)
    named = {**found.votes, **parsed.votes}
    votes = {task: str(file.parent / path) for task, path in named.items()}
    pipelines = {name: str(file.parent / path) for name, path in parsed.pipelines.items()}
    now = identities(parsed.variants, root, found)
    own_votes = [task for task, path in found.votes.items() if named[task] == path]
    voters = {task: found.voters[task] for task in own_votes if task in found.voters}
    outdated = {votes[task]: members for task, members in outdated_votes(voters, now, beside).items()}
    return Catalogue(with_measured(parsed.variants, found, now, beside), root, votes, pipelines, outdated)


def _located(path: str, on_progress: OnProgress | None) -> Path:
    """The file of a catalogue."""
    if path == "builtin":
        return BUILTIN
    if path == SENTIMENT:
        require("text", "catalogue 'sentiment'")
        from catalog.zoo.sentiment.build import built_catalogue  # a plain installation lacks what it imports

        return built_catalogue(on_progress)
    return Path(path)
