"""A brake owes what the processor's account says, and lets go in the end."""

import subprocess
import sys
import time

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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the processor's account of others is Linux's")
def test_a_process_goes_on_when_the_brake_is_gone() -> None:
    victim = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        with brake([victim.pid], 2.0, time.monotonic()):
            wait_until_stopped(psutil.Process(victim.pid))
        assert psutil.Process(victim.pid).status() != psutil.STATUS_STOPPED
    finally:
        victim.kill()
        victim.wait()


def wait_until_stopped(process: psutil.Process) -> None:
    while process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.0005)


def test_a_neighbour_ends_with_its_block() -> None:
    before = set(psutil.Process().children())
    with neighbour(0.5):
        (child,) = set(psutil.Process().children()) - before  # not by its command line: that is empty right after exec
    assert not child.is_running()
