"""How busy the cores are, of the real machine."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deployments.router.tables.machine_load import MEASURED_S, MachineLoad

BUSY = "while True: pass"

TRIES = 8
"""What else the machine does comes and goes: one quiet moment is enough."""


@contextmanager
def spinning(niceness: int) -> Iterator[None]:
    """A process that keeps a core busy, on the one core that this process may use meanwhile."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    process = subprocess.Popen([sys.executable, "-c", f"import os; os.nice({niceness})\n{BUSY}"])
    try:
        time.sleep(1.0)  # it has begun
        yield
    finally:
        process.kill()
        process.wait()
        os.sched_setaffinity(0, cores)


def measured() -> float:
    load = MachineLoad(time.monotonic)
    assert load.busy_share == 0.0, "nothing is measured yet"
    time.sleep(2 * MEASURED_S)
    return load.busy_share


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process to a core")
@pytest.mark.skipif(os.nice(0) > 0, reason="of low priority itself: all that it starts is")
def test_work_counts_and_work_of_low_priority_does_not() -> None:
    seen = []
    for _ in range(TRIES):
        with spinning(niceness=0):
            busy = measured()
        with spinning(niceness=19):
            yielding = measured()
        assert 0.0 <= yielding <= 1.0
        assert 0.0 <= busy <= 1.0
        seen.append((busy, yielding))
        if busy > 0.5 and yielding < busy - 0.2:
            return
    pytest.fail(f"shares at work beside a busy process, and beside one of low priority: {seen}")


def test_short_spans_are_not_judged() -> None:
    now_s = 10.0
    load = MachineLoad(lambda: now_s)
    now_s += 0.9 * MEASURED_S
    assert load.busy_share == 0.0
