"""What a session starts ends with it, wherever it went."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from serve_app.cli.run.session import Session

pytestmark = pytest.mark.timeout(60)

LEAVES_AN_ORPHAN = """
import subprocess, sys
middle = 'import subprocess; print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid, flush=True)'
subprocess.run([sys.executable, "-c", middle])
sys.stdin.read() if sys.argv[1] == "stays" else None
"""


@pytest.mark.parametrize("command", ["stays", "ends"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside another one"])
def test_an_orphan_with_a_session_of_its_own_ends_too(command: str, inside: bool, tmp_path: Path) -> None:
    outer = Session(["sleep", "600"], os.environ)
    env = psutil.Process(outer.pid).environ() if inside else os.environ
    with (tmp_path / "out").open("wb") as output:
        session = Session([sys.executable, "-c", LEAVES_AN_ORPHAN, command], env, output)
    other = Session(["sleep", "600"], os.environ)
    try:
        orphan = psutil.Process(_pid_in(tmp_path / "out"))
        assert os.getsid(orphan.pid) == orphan.pid
        (outer if inside else session).stop()
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert other.poll() is None
    finally:
        for each in (session, outer, other):
            each.stop()


def _pid_in(path: Path) -> int:
    while not path.read_text().endswith("\n"):  # the test's time ends it
        pass
    return int(path.read_text())
