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
from serve_app.proxy.guard import start_guard

gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
gone.wait()
tell = start_guard(gone.pid)
if sys.argv[1] == "after one that ended at once":
    tell(gone.pid)
haproxy = subprocess.Popen(
    [sys.executable, "-S", "-c", "import time; time.sleep(600.0)"], stdout=subprocess.DEVNULL, start_new_session=True
)
tell(haproxy.pid)
print(haproxy.pid, flush=True)
sys.stdin.read()
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
