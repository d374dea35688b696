"""What a session starts ends with it, wherever it went."""

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

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
def test_an_orphan_with_a_session_of_its_own_ends_too(command: str, inside: bool, tmp_path: Path) -> None:
    outer = Session(["sleep", "600"], os.environ)
    env = {**os.environ, MARK: _marks(outer)} if inside else os.environ
    with (tmp_path / "out").open("wb") as output:
        session = Session([sys.executable, "-c", LEAVES_AN_ORPHAN, command], env, output)
    other = Session(["sleep", "600"], os.environ)
    try:
        orphan = _orphan(tmp_path / "out")
        assert os.getsid(orphan) == orphan
        if command == "ends":
            session.process.wait()
        (outer if inside else session).stop()
        assert _has_ended(orphan)
        assert other.poll() is None
    finally:
        for each in (session, outer, other):
            each.stop()


WAITS = """
import time
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    raise SystemExit(7)
"""


def test_a_command_is_interrupted_also_where_interrupts_are_ignored_as_in_the_background(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with out.open("wb") as output:
            session = Session([sys.executable, "-c", WAITS], os.environ, output)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        while not out.read_text():  # the test's time ends it
            time.sleep(0.01)
        session.stop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert session.poll() == 7


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
    assert _has_ended(int(out.read_text().splitlines()[-1]))


FINISHES = """
import signal, sys, time

def finish(*_):
    time.sleep(0.5)
    print("finished", flush=True)
    sys.exit()

signal.signal(signal.SIGUSR1, finish)
print("ready", flush=True)
time.sleep(600)
"""


def test_the_proxy_ends_when_what_it_has_open_is_answered_and_nothing_else_is_told_to(tmp_path: Path) -> None:
    proxy, out = tmp_path / "haproxy", tmp_path / "out"
    proxy.write_text(FINISHES)
    other = ["sh", "-c", '"$@" & exec sleep 600', "sh", sys.executable, str(proxy)]
    with out.open("wb") as output:
        session = Session(other, os.environ, output)
    try:
        while "ready" not in out.read_text():  # the test's time ends it
            time.sleep(0.01)
        session.finish_open_queries()
        assert out.read_text().split() == ["ready", "finished"]
        assert session.poll() is None
    finally:
        session.stop()


def _marks(session: Session) -> str:
    """Of what the session starts, from its environment, which is empty for a moment; the test's time ends the wait."""
    process = psutil.Process(session.pid)
    while (marks := process.environ().get(MARK)) is None:
        time.sleep(0.01)
    return marks


def _has_ended(pid: int) -> bool:
    """Whether it is gone, or its parent has only to look."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _orphan(path: Path) -> int:
    """Its process id, once its parent is gone."""
    while not path.read_text().endswith("alone\n"):
        time.sleep(0.01)
    return int(path.read_text().split()[0])
