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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    Those that end meanwhile are let go of. Raises `ConfigError` where the system does not tell the processor time of
    another process.
    """
    if not sys.platform.startswith("linux"):
        raise ConfigError(f"making a worker slower needs Linux, and this is {sys.platform}; leave the condition out")
    try:
        with _process("brake", f"{slower}", f"{from_s}", *map(str, pids)):
            yield
    finally:
        _signal(pids, signal.SIGCONT)  # a brake that was killed could not


@contextmanager
def _process(what: str, *arguments: str) -> Iterator[None]:
    """Raises RuntimeError at the end of the block where the process has failed before."""
    command = [sys.executable, "-m", "serve_app.testing.duty_cycle", f"{os.getpid()}", what, *arguments]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield
    finally:
        code = process.poll()
        process.terminate()
        process.wait(STOP_S)
    if code:
        raise RuntimeError(
            f"the {what} ended by itself with {code}, so that what was measured is not what was asked for"
        )


def compute(share: float, parent: int) -> None:
    """Compute for ``share`` of the time, by the processor's account, until ``parent`` is gone."""
    began_s, used_s = time.monotonic(), time.process_time()
    while os.getppid() == parent:
        while time.process_time() - used_s < share * (time.monotonic() - began_s) and os.getppid() == parent:
            sum(range(1000))  # without an end where there is less than that share of a core to be had
        time.sleep(NEIGHBOUR_PERIOD_S * (1.0 - share))


def hold_back(pids: Sequence[int], slower: float, from_s: float, parent: int) -> None:
    """From ``from_s``, stop each process ``slower`` - 1 times as long as it computes, until ``parent`` is gone."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)  # a brake that waits for a core does not brake; it takes next to none itself
    time.sleep(max(0.0, from_s - time.monotonic()))
    before_s = _all_computed_s(pids)
    stopped_s = dict.fromkeys(pids, 0.0)
    try:
        while os.getppid() == parent and (computed_s := _all_computed_s(before_s)):
            owed_s = {
                pid: stop_for_s(so_far_s - before_s[pid], stopped_s[pid], slower)
                for pid, so_far_s in computed_s.items()
            }
            for pid, stop_s in _stop({pid: each_s for pid, each_s in owed_s.items() if each_s}).items():
                stopped_s[pid] += stop_s
            time.sleep(LOOK_S)
    finally:
        _signal(pids, signal.SIGCONT)


def _stop(for_s: Mapping[int, float]) -> dict[int, float]:
    """Stop processes all at once, each for so long; gives how long each was stopped."""
    began_s = time.monotonic()
    _signal(for_s, signal.SIGSTOP)
    stopped_s = {}
    for pid in sorted(for_s, key=for_s.__getitem__):
        time.sleep(max(0.0, began_s + for_s[pid] - time.monotonic()))
        _signal([pid], signal.SIGCONT)
        stopped_s[pid] = time.monotonic() - began_s
    return stopped_s


def stop_for_s(computed_s: float, stopped_s: float, slower: float) -> float:
    """How long to stop what computed and was stopped for so long; 0 while that is less than `LEAST_STOP_S`."""
    owed_s = (slower - 1.0) * computed_s - stopped_s
    return min(owed_s, MOST_STOP_S) if owed_s >= LEAST_STOP_S else 0.0


def _all_computed_s(pids: Iterable[int]) -> dict[int, float]:
    """Processor time of all threads of each process that is still there (clock_getcpuclockid of Linux)."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            found[pid] = time.clock_gettime((~pid << 3) | 2)
    return found


def _signal(pids: Iterable[int], number: int) -> None:
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
