"""What a client may register: nothing that an operator has not allowed."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog.artifacts.code import refuse_code
from catalog.artifacts.places import within
from catalog.artifacts.rules import ArtifactRules
from catalog.errors import ArtifactError, BadRequest, ConfigError, Forbidden
from catalog.profiles.profile_cache import cache_dir
from catalog.store import FsspecStore
from catalog.user_code.static_check import check_classes
from catalog.variant import EMULATED, STACKED, Artifact, Variant
from deployments.controller.variants.registration import as_variant
from deployments.runtimes.emulated_runtime import emulated_options
from deployments.runtimes.stacked_runtime import members_of

LONGEST_NAME = 200
MOST_VALUES = 1 << 28
"""Of one tensor of the largest batch, which a worker makes to measure a variant with."""
MOST_MEMBERS = 64


def vet(described: Mapping[str, Any], root: str, rules: ArtifactRules) -> None:
    """Refuse a variant that a client describes where it names what the operator has not allowed. Blocks; fetches.

    ``root`` is the catalogue's folder. Raises `BadRequest` or `Forbidden`.
    """
    variant = as_variant(described)
    _check_form(variant)
    try:
        for each in _with_members(variant):
            _vet_one(each, root, rules)
    except (ConfigError, ArtifactError) as error:
        raise BadRequest(str(error)) from error


def _with_members(variant: Variant) -> list[Variant]:
    if variant.runtime != STACKED:
        return [variant]
    members = members_of(variant)
    if len(members) > MOST_MEMBERS or any(member.runtime == STACKED for member in members):
        raise BadRequest(f"variant {variant.name!r}: a stacked variant has up to {MOST_MEMBERS} members, none stacked")
    return list(members)


def _vet_one(variant: Variant, root: str, rules: ArtifactRules) -> None:
    _check_form(variant)
    what = f"variant {variant.name!r}"
    rules.admit(variant.artifact, root, what)
    if variant.artifact.import_path is not None:
        check_classes([variant], root)
        return
    path = FsspecStore(root, cache_dir(), rules).fetch(variant.artifact)
    if variant.runtime == EMULATED:
        _vet_files_beside(variant, path, root, rules)
    try:
        refuse_code(path, rules, what)
    except ArtifactError as error:
        raise Forbidden(str(error)) from error


def _vet_files_beside(variant: Variant, path: Path, root: str, rules: ArtifactRules) -> None:
    """What an emulated variant reads beside its artifact, relative to its folder."""
    options = emulated_options(variant)
    for name in (options.outputs, options.factor_file):
        if name is not None and not (path.is_dir() and within(str(path / name), str(path))):
            folder = path if path.is_dir() else path.parent
            rules.admit(Artifact(str(folder / name)), root, f"variant {variant.name!r}, options")


def _check_form(variant: Variant) -> None:
    """Names that fit into tables, paths and logs, and tensors that a worker can make."""
    for name in (variant.name, variant.task, *(spec.name for spec in (*variant.inputs, *variant.outputs))):
        if not name or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name or name in (".", ".."):
            raise BadRequest(
                f"variant {variant.name[:LONGEST_NAME]!r}: {name[:LONGEST_NAME]!r} is no name; use 1 to {LONGEST_NAME} "
                "printable characters without a slash"
            )
    for spec in (*variant.inputs, *variant.outputs):
        longest = 1 if variant.lengths is None else variant.lengths.longest
        values = math.prod((variant.max_batch, *spec.item_shape_at(longest)))
        if values > MOST_VALUES:
            raise BadRequest(
                f"variant {variant.name!r}: {spec.name!r} has {values} values in a batch of {variant.max_batch} rows, "
                f"and may have {MOST_VALUES}; lower max_batch"
            )
