"""What ends HAProxy where nobody else would; here a process that sleeps."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from serve_app.proxy import guard

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
if sys.argv[1] == "one that ended":
    haproxy = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(0.3)"])
    guard.watch(haproxy.pid)
    haproxy.wait()
guard.end()
try:
    print("somebody", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("nobody")
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


@pytest.mark.parametrize("which", ["one that ended", "none"])
def test_nothing_of_it_is_left_once_haproxy_has_ended(which: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS, which],
        cwd=Path(guard.__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("nobody\n", "")
