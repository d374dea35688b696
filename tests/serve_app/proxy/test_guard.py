"""What ends HAProxy where nobody else would; here a process that sleeps."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from haproxy_scene import managed, until
from serve_app.proxy import guard

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux: orphans below this process become its children, as those of a container become the first process's."""

SUPERVISOR = """
import subprocess, sys
from serve_app.proxy.guard import Guard

gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
gone.wait()
guard = Guard(gone.pid)
if sys.argv[1] == "after one that ended at once":
    guard.watch(gone.pid)
haproxy = subprocess.Popen(
    [sys.executable, "-S", "-c", "import time; time.sleep(600.0)"], stdout=subprocess.DEVNULL, start_new_session=True
)
guard.watch(haproxy.pid)
print(haproxy.pid, flush=True)
sys.stdin.read()
"""

ENDS = """
import os, subprocess, sys
from serve_app.proxy.guard import Guard

guard = Guard(os.getppid())
if sys.argv[1] != "none":
    haproxy = subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({sys.argv[2]})"])
    guard.watch(haproxy.pid)
    if sys.argv[1] == "one that ended":
        haproxy.wait()
guard.end()
try:
    os.kill(guard.pid, 0)
    print("still there")
except ProcessLookupError:
    print("gone")
if sys.argv[1] == "one that lives":
    haproxy.kill()
"""


@pytest.mark.parametrize("which", ["the first", "after one that ended at once"])
def test_haproxy_ends_where_supervisor_and_manager_are_gone(which: str) -> None:
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, which],
        cwd=Path(guard.__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert supervisor.stdout is not None
    haproxy = psutil.Process(int(supervisor.stdout.readline()))
    try:
        supervisor.kill()
        supervisor.communicate()
        haproxy.wait(20.0)
    finally:
        with suppress(psutil.NoSuchProcess):
            haproxy.kill()


@pytest.mark.parametrize(
    ("which", "lasts_s", "left"),
    [("one that ended", 0.3, "gone"), ("none", 0, "gone"), ("one that lives", 60, "still there")],
)
def test_it_is_gone_once_haproxy_is_and_not_before(which: str, lasts_s: float, left: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS, which, f"{lasts_s}"],
        cwd=Path(guard.__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (f"{left}\n", "")


@pytest.fixture
def gets_orphans() -> Iterator[None]:
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_changes_of_routes_leave_nothing_that_somebody_else_has_to_wait_for(gets_orphans: None) -> None:
    there = set(psutil.Process().children())
    with managed() as manager:
        for port in (1, 2):
            before = manager.supervisor()
            manager.route(("r1", port))
            until(lambda gone=before: not gone.is_running())
        came = set(psutil.Process().children()) - there
        ended = [child for child in came if child.status() == psutil.STATUS_ZOMBIE]
        assert [child.name() for child in ended] == []
