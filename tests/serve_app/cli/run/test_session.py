"""What a session starts ends with it, wherever it went."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from serve_app.cli.run import session as module
from serve_app.cli.run.session import MARK, Session

pytestmark = pytest.mark.timeout(60)

LEAVES_AN_ORPHAN = """
import subprocess, sys, time
middle = 'import subprocess; print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid, flush=True)'
subprocess.run([sys.executable, "-c", middle])
print("alone", flush=True)
if sys.argv[1] == "stays":
    time.sleep(600)
"""


@pytest.mark.parametrize("command", ["stays", "ends"])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside another one"])
def test_an_orphan_with_a_session_of_its_own_ends_too(
    command: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_TIMEOUT_S", 1.0)  # a test that runs in the background ignores SIGINT
    outer = Session(["sleep", "600"], os.environ)
    env = {**os.environ, MARK: _marks(outer)} if inside else os.environ
    with (tmp_path / "out").open("wb") as output:
        session = Session([sys.executable, "-c", LEAVES_AN_ORPHAN, command], env, output)
    other = Session(["sleep", "600"], os.environ)
    try:
        orphan = psutil.Process(_orphan(tmp_path / "out"))
        assert os.getsid(orphan.pid) == orphan.pid
        if command == "ends":
            session.process.wait()
        (outer if inside else session).stop()
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        assert other.poll() is None
    finally:
        for each in (session, outer, other):
            each.stop()


STARTS_ANOTHER = """
import signal, subprocess, sys, time

def start_another(*_):
    print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid, flush=True)
    sys.exit()

signal.signal(signal.SIGTERM, start_another)
print("ready", flush=True)
time.sleep(600)
"""


def test_what_is_started_by_one_that_is_asked_to_end_ends_too(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as output:
        session = Session(["sh", "-c", '"$@" &', "sh", sys.executable, "-c", STARTS_ANOTHER], os.environ, output)
    session.process.wait()
    while not out.read_text():  # the test's time ends it
        time.sleep(0.01)
    session.stop()
    orphan = int(out.read_text().splitlines()[-1])
    assert not psutil.pid_exists(orphan) or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE


def _marks(session: Session) -> str:
    while MARK not in (
        env := psutil.Process(session.pid).environ()
    ):  # for a moment it has none; the test's time ends it
        time.sleep(0.01)
    return env[MARK]


def _orphan(path: Path) -> int:
    """Its process id, once its parent is gone."""
    while not path.read_text().endswith("alone\n"):
        time.sleep(0.01)
    return int(path.read_text().split()[0])
