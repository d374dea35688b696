"""What an evaluation writes: accuracies and votes where the catalogue reads them, and tables into its folder."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from catalog.evaluation.accuracy_file import (
    DIGITS,
    SUFFIX,
    MeasuredAccuracies,
    MeasuredVariant,
    fingerprint,
    read_accuracies,
    write_accuracies,
)
from catalog.evaluation.measured import Measured
from catalog.profiles.profile_cache import file_name
from catalog.variant import Variant
from catalog.votes import SPLITS, RecordedVotes, read_votes, write_votes
from serve_app.cli.evaluate.figures import Evaluated

SPLITTING = ("both", *SPLITS)


def votes_path(target: Path, task: str) -> Path:
    """Where the recorded votes of a task stand, beside the file of accuracies."""
    return target.with_name(f"{target.name.removesuffix(SUFFIX)}.{file_name(task)}.votes.csv")


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
    votes = _votes(found, variants, split) if found.of_classes else {}
    if votes:
        write_votes(out / "votes.csv", _with_kept(out / "votes.csv", votes))
        wrote["votes"] = str(out / "votes.csv")
    _write_members(out / "members.csv", found)
    wrote["members"] = str(out / "members.csv")
    if target is not None:
        known = read_accuracies(target)
        files = dict(known.votes)
        if votes and with_votes:
            beside = votes_path(target, found.task)
            write_votes(beside, _with_kept(beside, votes))
            files[found.task] = beside.name
            wrote["recorded_votes"] = str(beside)
        measured = {each.name: _measured(found, each, root) for each in variants}
        write_accuracies(target, MeasuredAccuracies({**known.variants, **measured}, files))
        wrote["accuracies"] = str(target)
    return wrote


def _measured(found: Evaluated, variant: Variant, root: str) -> MeasuredVariant:
    score = found.variants[variant.name].score
    low, high = (round(each, DIGITS) for each in (score.low, score.high))
    classes = {
        name: {key: round(value, DIGITS) for key, value in figures.items()}
        for name, figures in found.classes(variant.name).items()
    }
    return MeasuredVariant(
        of=fingerprint(variant, root),
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


def _with_kept(path: Path, votes: dict[str, RecordedVotes]) -> dict[str, RecordedVotes]:
    """The votes, and those of other splits that the file holds of the same variants."""
    if not path.exists():
        return votes
    members = next(iter(votes.values())).members
    kept = {split: each for split, each in read_votes(path).items() if each.members == members}
    return {split: each for split in SPLITS if (each := votes.get(split, kept.get(split))) is not None}


def _write_members(path: Path, found: Evaluated) -> None:
    """Latency of one row and packing factor by variant, as `benchmarks.ensemble` takes them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["member", "latency_ms", "packing_factor"])
        for name, each in found.variants.items():
            writer.writerow([name, f"{each.latency_ms:.4f}", each.packing_factor])
