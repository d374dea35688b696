"""Processes for long computations: how nice they are, and that none outlives its parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from deployments import processes as module
from deployments.processes import BACKGROUND_NICENESS, background_process, processes


def test_processes_begin_afresh_with_the_niceness_that_is_asked_for() -> None:
    with processes(1, niceness=3) as pool:
        assert pool.submit(_niceness).result(60) >= 3


@pytest.mark.skipif(os.cpu_count() == 1, reason="needs two CPUs")
def test_there_are_no_more_than_cpus_that_this_process_may_run_on() -> None:
    usable, before = os.sched_getaffinity(0), set(multiprocessing.active_children())
    try:
        os.sched_setaffinity(0, {min(usable)})
        with processes() as pool:
            for _ in range(3):
                pool.submit(os.getpid)
            assert len(set(multiprocessing.active_children()) - before) == 1
    finally:
        os.sched_setaffinity(0, usable)


def test_what_waits_when_the_block_raises_is_not_begun() -> None:
    waiting: list[Future[int]] = []

    def fail() -> None:
        with processes(1) as pool:
            waiting.extend(pool.submit(os.getpid) for _ in range(10))
            raise ValueError("one was wrong")

    with pytest.raises(ValueError, match="one was wrong"):
        fail()
    assert waiting[-1].cancelled()


def _niceness() -> int:
    return os.nice(0)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
def test_what_runs_in_the_background_does_so_for_other_sessions_too() -> None:
    with background_process() as pool:
        session, group, policy = pool.submit(_session).result(60)
    assert session != os.getsid(0)
    assert group.endswith(f" nice {BACKGROUND_NICENESS}\n")
    assert policy == os.SCHED_IDLE


def _session() -> tuple[int, str, int]:
    return os.getsid(0), Path("/proc/self/autogroup").read_text(), os.sched_getscheduler(0)


@pytest.mark.parametrize("job", ["", "pool.submit(time.sleep, 600)"], ids=["idle", "busy"])
def test_processes_end_with_a_parent_that_is_killed(job: str) -> None:
    script = f"""
import os, sys, time
from deployments.processes import processes
with processes(1) as pool:
    pool.submit(os.getpid).result()
    {job}
    print("ready", flush=True)
    sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(module.__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
        parent.communicate(timeout=30)  # ends when no process is left that could still write
    finally:
        with suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.communicate()
