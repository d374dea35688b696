"""What running each member costs, from a CSV with columns ``member,latency_ms,packing_factor``."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalog.errors import ConfigError

COLUMNS = ("member", "latency_ms", "packing_factor")


@dataclass(frozen=True)
class MemberCost:
    """One inference takes ``latency_ms``; an instance runs ``packing_factor`` of them at once."""

    latency_ms: float
    packing_factor: float


def read_members(path: Path) -> dict[str, MemberCost]:
    """Costs by member; raises `ConfigError` naming the file, the line and the value that is wrong."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read members {path}: {error}; give a CSV of {','.join(COLUMNS)}") from error
    found: dict[str, MemberCost] = {}
    for line, row in enumerate(rows, start=2):
        missing = [column for column in COLUMNS if row.get(column) is None]
        if missing:
            raise ConfigError(f"{path}, line {line}: no {' and no '.join(missing)}; columns are {','.join(COLUMNS)}")
        if row["member"] in found:
            raise ConfigError(f"{path}, line {line}: member {row['member']!r} stands twice; give one row per member")
        found[row["member"]] = MemberCost(*(_positive(path, line, row, column) for column in COLUMNS[1:]))
    if not found:
        raise ConfigError(f"members {path} has no rows; give one per member")
    return found


def check(members: Mapping[str, MemberCost], voting: tuple[str, ...]) -> None:
    """Raises `ConfigError` where a member that votes has no costs."""
    missing = [name for name in voting if name not in members]
    if missing:
        raise ConfigError(f"no latency of member {', '.join(missing)}; the members' file has {', '.join(members)}")


def _positive(path: Path, line: int, row: Mapping[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ConfigError(f"{path}, line {line}: {column} is {row[column]!r}; give a number above 0")
    return value
