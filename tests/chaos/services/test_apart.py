"""A network namespace that cannot be made whole takes along what was made of it, and nothing else."""

import os
from pathlib import Path

import pytest

from chaos.services.apart import namespace

IP = """#!/bin/sh
echo "$*" >> "$IP_CALLS"
case "$1 $2" in "$IP_REFUSES") echo "File exists" >&2; exit 2;; esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a command `ip` that does nothing writes what it was asked."""
    command = tmp_path / "ip"
    command.write_text(IP)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IP_CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.mark.parametrize(
    ("refused", "deleted"), [("netns add", []), ("link add", ["netns"]), ("addr add", ["link", "netns"])]
)
def test_only_what_was_made_is_deleted(
    calls: Path, monkeypatch: pytest.MonkeyPatch, refused: str, deleted: list[str]
) -> None:
    monkeypatch.setenv("IP_REFUSES", refused)
    with pytest.raises(RuntimeError, match=rf"`ip {refused} .*` failed: File exists"), namespace():
        pass
    asked = [line.split() for line in calls.read_text().splitlines()]
    assert [words[0] for words in asked if words[1] == "del"] == deleted


def test_what_was_made_is_deleted_at_the_end(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IP_REFUSES", "nothing")
    with namespace() as made:
        assert " del " not in calls.read_text()
    assert calls.read_text().splitlines()[-2:] == [f"link del {made.interface}", f"netns del {made.name}"]
