"""A writer that is killed at any point: what is read afterwards is the old or the new, and never anything else."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import killed_anywhere

DATA = Path(__file__).parent / "data"
OLD, NEW = {"plan": ["old"] * 50}, {"plan": ["new"] * 2000}


def seen_after_kills(what: str, place: str, folder: Path) -> list[dict[str, Any]]:
    """What the store holds after a kill at each system call, and whether it was done; at last without one."""
    command = [sys.executable, killed_anywhere.__file__, what, place, str(folder)]
    env = {"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode == killed_anywhere.NOT_ALLOWED:
        pytest.skip("this machine does not allow ptrace")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert isinstance(seen, list)
    return seen


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace as Linux has it")
@pytest.mark.parametrize("place", ["state", "state.db"])
def test_a_write_that_is_killed_anywhere_has_happened_or_not(place: str, tmp_path: Path) -> None:
    seen = seen_after_kills("write", place, tmp_path)
    assert len(seen) > 50, "so many points there are at least"
    assert all(each["read"] in (OLD, NEW) for each in seen)
    assert (seen[0], seen[-1]) == ({"read": OLD, "done": False}, {"read": NEW, "done": True})
    assert all(each["read"] == NEW for each in seen if each["done"]), "a write that has returned stays"


@pytest.mark.skipif(sys.platform != "linux", reason="ptrace as Linux has it")
@pytest.mark.parametrize("place", ["interference", "interference.db"])
def test_a_migration_that_is_killed_anywhere_goes_on_with_the_next_start(place: str, tmp_path: Path) -> None:
    kept, before = DATA / "version-1" / place, tmp_path / "before" / place
    before.parent.mkdir()
    shutil.copytree(kept, before) if kept.is_dir() else shutil.copy(kept, before)
    seen = seen_after_kills("migrate", place, tmp_path)
    assert len(seen) > 20
    assert all(each == seen[-1] for each in seen)
    assert seen[-1]["read"]["sizes"] == {"cpu": 5}
