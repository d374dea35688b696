"""A brake owes what the processor's account says, and lets go in the end."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from serve_app.testing.duty_cycle import LEAST_STOP_S, MOST_STOP_S, brake, neighbour, stop_for_s


@pytest.mark.parametrize(
    ("computed_s", "stopped_s", "slower", "owed_s"),
    [
        (0.004, 0.0, 2.0, 0.004),
        (0.004, 0.0, 1.5, 0.002),
        (0.004, 0.0035, 2.0, 0.0),
        (0.004, 0.009, 2.0, 0.0),
        (1.0, 0.0, 2.0, MOST_STOP_S),
    ],
    ids=["as long again", "half as long again", "too little to stop for", "stopped too long", "after a long while"],
)
def test_a_process_is_stopped_for_what_it_is_owed(
    computed_s: float, stopped_s: float, slower: float, owed_s: float
) -> None:
    assert stop_for_s(computed_s, stopped_s, slower) == pytest.approx(owed_s)


def test_over_time_it_takes_so_many_times_as_long() -> None:
    computed_s = stopped_s = 0.0
    for _ in range(10_000):
        computed_s += 0.0003
        stopped_s += stop_for_s(computed_s, stopped_s, 1.5)
    assert (computed_s + stopped_s) / computed_s == pytest.approx(1.5, abs=2 * LEAST_STOP_S)


on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the account of others")
BUSY = [sys.executable, "-c", "while True: pass"]
LOOKS = 20_000


@pytest.fixture
def victims() -> Iterator[list[psutil.Process]]:
    begun = [subprocess.Popen(BUSY) for _ in range(3)]
    yield [psutil.Process(each.pid) for each in begun]
    for each in begun:
        each.kill()
        each.wait()


@on_linux
def test_a_process_goes_on_when_the_brake_is_gone(victims: list[psutil.Process]) -> None:
    with brake([victims[0].pid], 2.0, time.monotonic()):
        wait_until_stopped(victims[0])
    assert victims[0].status() != psutil.STATUS_STOPPED


@on_linux
def test_processes_are_stopped_at_the_same_time(victims: list[psutil.Process]) -> None:
    there_and_back = (*victims, *reversed(victims))  # one after another, some would run in between
    with brake([each.pid for each in victims], 10.0, time.monotonic()):
        assert any(all(each.status() == psutil.STATUS_STOPPED for each in there_and_back) for _ in range(LOOKS))


@on_linux
def test_a_process_that_ends_does_not_free_the_others(victims: list[psutil.Process]) -> None:
    ending, other, _ = victims
    with brake([ending.pid, other.pid], 2.0, time.monotonic()):
        wait_until_stopped(ending)
        ending.kill()
        ending.wait()
        for _ in range(20):
            wait_until_stopped(other, stopped=False)
            wait_until_stopped(other)


@on_linux
def test_a_brake_that_was_killed_is_told_of_and_holds_nothing(victims: list[psutil.Process]) -> None:
    before = set(psutil.Process().children())

    def kill_it() -> None:
        with brake([victims[0].pid], 10.0, time.monotonic()):
            (child,) = set(psutil.Process().children()) - before
            wait_until_stopped(victims[0])
            child.kill()
            while child.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.001)

    with pytest.raises(RuntimeError, match="the brake ended by itself with -9"):
        kill_it()
    assert victims[0].status() != psutil.STATUS_STOPPED


def wait_until_stopped(process: psutil.Process, stopped: bool = True) -> None:
    for _ in range(LOOKS):
        if (process.status() == psutil.STATUS_STOPPED) == stopped:
            return
        time.sleep(0.0005)
    raise AssertionError(f"process {process.pid} is {process.status()}, always")


NEIGHBOUR = """
import sys, time
from serve_app.testing.duty_cycle import neighbour

with neighbour(1.0):
    print("ready", flush=True)
    time.sleep(600.0)
"""


def test_a_neighbour_ends_with_its_parent_also_where_it_never_has_its_share() -> None:
    parent = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    (child,) = psutil.Process(parent.pid).children()
    while child.cpu_times().user < 0.3:  # it computes by now
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    try:
        child.wait(10.0)
    finally:
        parent.stdout.close()
        with suppress(psutil.NoSuchProcess):
            child.kill()


def test_a_neighbour_ends_with_its_block() -> None:
    before = set(psutil.Process().children())
    with neighbour(0.5):
        (child,) = set(psutil.Process().children()) - before  # not by its command line: that is empty right after exec
    assert not child.is_running()
