"""Votes and costs of members that come from files."""

from pathlib import Path

import pytest

from benchmarks.ensemble.cases import recorded
from benchmarks.ensemble.members_csv import MemberCost, read_members
from catalog.errors import ConfigError
from serve_app.build.endpoints.ensembles import MOST_MEMBERS

HEADER = "member,latency_ms,packing_factor\n"


def files(folder: Path, members: int) -> tuple[Path, Path]:
    names = [f"m{number}" for number in range(members)]
    votes, costs = folder / "votes.csv", folder / "members.csv"
    said = ",0" * members
    votes.write_text(f"split,label,{','.join(names)}\ndev,0{said}\ntest,1{said}\n")
    costs.write_text(HEADER + "".join(f"{name},10,1\n" for name in names))
    return votes, costs


def test_costs_are_read_as_windows_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_bytes(b"\xef\xbb\xbfmember,latency_ms,packing_factor\r\na,10,2\r\n")
    assert read_members(path) == {"a": MemberCost(10.0, 2.0)}


def test_a_member_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_text(HEADER + "a,10,1\nb,10,1\na,20,1\n")
    with pytest.raises(ConfigError, match=r"members\.csv, line 4: member 'a' stands twice; give one row per member"):
        read_members(path)


def test_more_members_than_sets_are_counted_of_are_refused(tmp_path: Path) -> None:
    assert len(recorded(*files(tmp_path, MOST_MEMBERS)).costs) == MOST_MEMBERS
    with pytest.raises(ConfigError, match=r"votes\.csv have 63 members; give 62 at most"):
        recorded(*files(tmp_path, MOST_MEMBERS + 1))
