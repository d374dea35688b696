"""Processes that let others go first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serve_app.yielding import FIRST, NICENESS, let_yield, may_stop_yielding

THREADED = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


def test_all_threads_of_a_process_yield_and_a_second_time_changes_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", THREADED], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        threads = [int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(threads) == 2
        for _ in range(2):
            let_yield(process.pid)
            assert {os.getpriority(os.PRIO_PROCESS, each) for each in threads} == {NICENESS}
    finally:
        process.kill()
        process.communicate()
    let_yield(process.pid)  # gone by now


RETURNS = """
import os, sys
from serve_app.yielding import may_stop_yielding, stop_yielding
os.setpriority(os.PRIO_PROCESS, 0, int(sys.argv[1]))
os.setuid(int(sys.argv[2]))
stop_yielding(like=os.getppid())
print(may_stop_yielding(), os.getpriority(os.PRIO_PROCESS, 0))
"""


def niceness_after(niceness: int, user: int | None = None) -> list[str]:
    command = [sys.executable, "-c", RETURNS, str(niceness), str(os.getuid() if user is None else user)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not may_stop_yielding(), reason="only who may raise priorities can have one back")
def test_what_yields_because_its_parent_does_goes_as_another_process_again() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness_after(NICENESS) == ["True", f"{min(own, NICENESS)}"]
    assert niceness_after(NICENESS + 3) == ["True", f"{NICENESS + 3}"]  # somebody else's wish


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not")
def test_who_may_not_raise_a_priority_stays_and_knows() -> None:
    assert niceness_after(NICENESS, user=65534) == ["False", f"{NICENESS}"]


GOES_FIRST = """
import os, sys, threading
from serve_app.yielding import go_first
begun = threading.Event()
threading.Thread(target=begun.wait).start()
os.setuid(int(sys.argv[1]))
go_first()
threading.Thread(target=begun.wait).start()
threads = os.listdir("/proc/self/task")
print(len(threads), *{os.getpriority(os.PRIO_PROCESS, int(each)) for each in threads})
begun.set()
"""


def niceness_of_what_goes_first(user: int) -> list[str]:
    """How many threads it has, and each of their priorities once."""
    command = [sys.executable, "-c", GOES_FIRST, str(user)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not may_stop_yielding(), reason="only who may raise priorities can go first")
def test_all_threads_of_what_goes_first_do_those_that_come_later_too() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness_of_what_goes_first(os.getuid()) == ["3", f"{max(own - FIRST, -20)}"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not")
def test_who_may_not_go_first_goes_as_before() -> None:
    assert niceness_of_what_goes_first(65534) == ["3", f"{os.getpriority(os.PRIO_PROCESS, 0)}"]
