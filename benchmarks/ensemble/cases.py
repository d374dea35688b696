"""Where votes come from: files, the built-in tasks, or a table of accuracies by class."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ensemble.members_csv import MemberCost, check, read_members
from catalog.errors import ConfigError
from catalog.votes import RecordedVotes, read_votes


@dataclass(frozen=True)
class Case:
    """Votes to learn from, votes to judge by, and what members cost."""

    name: str
    dev: RecordedVotes
    test: RecordedVotes
    costs: Mapping[str, MemberCost]


def recorded(votes: Path, members: Path) -> Case:
    """A case of two files; raises `ConfigError`."""
    splits, costs = read_votes(votes), read_members(members)
    missing = [split for split in ("dev", "test") if split not in splits]
    if missing:
        raise ConfigError(f"votes {votes} have no rows of split {' and '.join(missing)}; both are needed")
    check(costs, splits["dev"].members)
    return Case(votes.stem, splits["dev"], splits["test"], costs)
