"""A foreign process that takes part of a core, or one that makes other processes slower.

A process of its own in either case: as the module of a command, ``neighbour`` computes for a share of the time, and
``brake`` stops processes (SIGSTOP) after every bit of computing and lets them go on (SIGCONT), so that whatever they
compute takes so many times as long. Both keep an account from their beginning: what one period had too little of, the
next one makes up for. Both end with the process that started them; a brake lets everything go on then.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from catalog.errors import ConfigError

NEIGHBOUR_PERIOD_S = 0.02
LOOK_S = 0.001
"""A brake looks so often at what was computed."""

LEAST_STOP_S, MOST_STOP_S = 0.001, 0.02
"""No stop is shorter; a brake that was not scheduled itself for a while makes up for it in several of the longest."""

STOP_S = 5.0


@contextmanager
def neighbour(share: float) -> Iterator[None]:
    """A process that computes for ``share`` of one core, from now until the block ends."""
    with _process("neighbour", f"{share}"):
        yield


@contextmanager
def brake(pids: Sequence[int], slower: float, from_s: float) -> Iterator[None]:
    """What processes compute takes ``slower`` times as long from ``from_s``, of the monotonic clock, in the block.

    Raises `ConfigError` where the system does not tell the processor time of another process.
    """
    if not sys.platform.startswith("linux"):
        raise ConfigError(f"making a worker slower needs Linux, and this is {sys.platform}; leave the condition out")
    with _process("brake", f"{slower}", f"{from_s}", *map(str, pids)):
        yield


@contextmanager
def _process(*arguments: str) -> Iterator[None]:
    command = [sys.executable, "-m", "serve_app.testing.duty_cycle", f"{os.getpid()}", *arguments]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait(STOP_S)


def compute(share: float, parent: int) -> None:
    """Compute for ``share`` of the time, by the processor's account, until ``parent`` is gone."""
    began_s, used_s = time.monotonic(), time.process_time()
    while os.getppid() == parent:
        while time.process_time() - used_s < share * (time.monotonic() - began_s):
            sum(range(1000))
        time.sleep(NEIGHBOUR_PERIOD_S * (1.0 - share))


def hold_back(pids: Sequence[int], slower: float, from_s: float, parent: int) -> None:
    """From ``from_s``, stop each process ``slower`` - 1 times as long as it computes, until ``parent`` is gone."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)  # a brake that waits for a core does not brake; it takes next to none itself
    time.sleep(max(0.0, from_s - time.monotonic()))
    before_s = {pid: _computed_s(pid) for pid in pids}
    stopped_s = dict.fromkeys(pids, 0.0)
    try:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
            for pid in pids:
                owed_s = stop_for_s(_computed_s(pid) - before_s[pid], stopped_s[pid], slower)
                if owed_s:
                    stop_s = time.monotonic()
                    _signal([pid], signal.SIGSTOP)
                    time.sleep(owed_s)
                    _signal([pid], signal.SIGCONT)
                    stopped_s[pid] += time.monotonic() - stop_s
    except ProcessLookupError:
        return  # it has ended
    finally:
        _signal(pids, signal.SIGCONT)


def stop_for_s(computed_s: float, stopped_s: float, slower: float) -> float:
    """How long to stop what computed and was stopped for so long; 0 while that is less than `LEAST_STOP_S`."""
    owed_s = (slower - 1.0) * computed_s - stopped_s
    return min(owed_s, MOST_STOP_S) if owed_s >= LEAST_STOP_S else 0.0


def _computed_s(pid: int) -> float:
    """Processor time of all threads of a process (clock_getcpuclockid of Linux). Raises ProcessLookupError."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def _signal(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def main(arguments: Sequence[str]) -> None:
    """What the command line says."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parent, what, *rest = arguments
    if what == "neighbour":
        compute(float(rest[0]), int(parent))
    else:
        slower, from_s, *pids = rest
        hold_back([int(pid) for pid in pids], float(slower), float(from_s), int(parent))


if __name__ == "__main__":
    main(sys.argv[1:])
