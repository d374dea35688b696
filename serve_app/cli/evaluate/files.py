"""What an evaluation writes: accuracies and votes where the catalogue reads them, and tables into its folder."""

import csv
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from catalog.errors import ConfigError
from catalog.evaluation.accuracy_file import (
    DIGITS,
    SUFFIX,
    MeasuredAccuracies,
    MeasuredVariant,
    identity,
    read_accuracies,
    write_accuracies,
)
from catalog.evaluation.measured import Measured
from catalog.profiles.profile_cache import file_name
from catalog.variant import Variant
from catalog.votes import SPLITS, RecordedVotes, read_votes, write_votes
from serve_app.cli.console import ERR
from serve_app.cli.evaluate.figures import Evaluated

SPLITTING = ("both", *SPLITS)

VOTERS = "voters.json"
"""By variant the `identity` of what gave the votes in the folder."""


def votes_path(target: Path, task: str) -> Path:
    """Where the recorded votes of a task stand, beside the file of accuracies."""
    return target.with_name(f"{target.name.removesuffix(SUFFIX)}.{file_name(task)}.votes.csv")


def refuse_unwritable(out: Path, target: Path | None) -> None:
    """Raise `ConfigError` where ``out`` cannot be made, or nothing be written beside ``target``: before all is run."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make {out}: {error.strerror}; name another folder with --out") from error
    for folder, option in ((out, "--out"), (None if target is None else target.parent, "--accuracy-file")):
        if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigError(f"nothing can be written to {folder}; name another place with {option}")


def write_files(
    found: Evaluated,
    variants: Sequence[Variant],
    root: str,
    out: Path,
    split: str,
    target: Path | None,
    with_votes: bool,
) -> dict[str, str]:
    """What was written where. Accuracies go to ``target``, unless it is None, and ``with_votes`` votes beside it."""
    out.mkdir(parents=True, exist_ok=True)
    wrote = {}
    of = {each.name: identity(each, root) for each in variants}
    votes = _votes(found, variants, split) if found.of_classes else {}
    if votes:
        write_votes(out / "votes.csv", _with_kept(out / "votes.csv", votes, of, _voters(out / VOTERS)))
        (out / VOTERS).write_text(json.dumps(of, indent=1) + "\n", encoding="utf-8")
        wrote["votes"] = str(out / "votes.csv")
    _write_members(out / "members.csv", found)
    wrote["members"] = str(out / "members.csv")
    if target is not None:
        known = read_accuracies(target)
        files, voters = dict(known.votes), dict(known.voters)
        if votes and with_votes:
            beside = votes_path(target, found.task)
            write_votes(beside, _with_kept(beside, votes, of, voters.get(found.task, {})))
            files[found.task], voters[found.task] = beside.name, of
            wrote["recorded_votes"] = str(beside)
        measured = {each.name: _measured(found, each.name, of[each.name]) for each in variants}
        write_accuracies(target, MeasuredAccuracies({**known.variants, **measured}, files, voters))
        wrote["accuracies"] = str(target)
    return wrote


def _measured(found: Evaluated, variant: str, of: str) -> MeasuredVariant:
    score = found.variants[variant].score
    low, high = (round(each, DIGITS) for each in (score.low, score.high))
    classes = {
        name: {key: round(value, DIGITS) for key, value in figures.items()}
        for name, figures in found.classes(variant).items()
    }
    return MeasuredVariant(
        of=of,
        accuracy=round(score.value, DIGITS),
        measured=Measured(found.metric, low, high, len(found.labels), found.data),
        classes=classes,
    )


def _votes(found: Evaluated, variants: Sequence[Variant], split: str) -> dict[str, RecordedVotes]:
    """The rows by split: with ``both`` every second one is for ensembles to learn from."""
    members = tuple(each.name for each in variants)
    said = np.stack([found.votes[name] for name in members], axis=1)
    votes = RecordedVotes(members, found.labels, said, max(2, len(found.names)))
    if split != "both":
        return {split: votes}
    rows = np.arange(votes.rows)
    halves = {name: votes.take(np.flatnonzero(rows % 2 == half)) for half, name in enumerate(SPLITS)}
    return {name: half for name, half in halves.items() if half.rows}


def _with_kept(
    path: Path, votes: dict[str, RecordedVotes], of: Mapping[str, str], before: Mapping[str, str]
) -> dict[str, RecordedVotes]:
    """The votes, and those of other splits that the file holds of the same variants.

    ``of`` has the identities of the variants now, ``before`` of what gave the votes in the file, empty where that is
    not known. Where a variant has changed, its old answers do not go with the new ones.
    """
    if not path.exists():
        return votes
    members = next(iter(votes.values())).members
    try:
        there = read_votes(path)
    except ConfigError as error:  # of a write that was cut off, or of somebody else
        ERR.print(f"{path} is replaced: {error}", style="red", markup=False, soft_wrap=True)
        return votes
    others = {split: each for split, each in there.items() if split not in votes}
    kept = {split: each for split, each in others.items() if each.members == members}
    changed = [name for name in members if before and before.get(name) != of[name]]
    if kept and changed:
        ERR.print(
            f"{path}: the rows of split {', '.join(kept)} are left out: {', '.join(changed)} gave them as another "
            "model, or with other options, labels or outputs; evaluate that split again",
            style="red",
            markup=False,
            soft_wrap=True,
        )
        return votes
    every = {**kept, **votes}
    return {split: every[split] for split in SPLITS if split in every}


def _voters(path: Path) -> dict[str, str]:
    """What stands in such a file; nothing where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(of) for name, of in found.items()} if isinstance(found, dict) else {}


def _write_members(path: Path, found: Evaluated) -> None:
    """Latency of one row and packing factor by variant, as `benchmarks.ensemble` takes them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["member", "latency_ms", "packing_factor"])
        for name, each in found.variants.items():
            writer.writerow([name, f"{each.latency_ms:.4f}", each.packing_factor])
