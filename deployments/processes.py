"""Processes for long computations beside a service."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, suppress

from threadpoolctl import threadpool_limits

from catalog.machine_type import cpus_there, usable_cpus
from deployments.session import GROUP, lead_session

BACKGROUND_NICENESS = 19
"""Processes this nice run only where a core has nothing else to do, as far as the system knows such a thing, and lead
sessions of their own, as nice: their parent's share of a core, beside other sessions, is not for them."""


@contextmanager
def processes(count: int | None = None, niceness: int = 0) -> Iterator[Executor]:
    """As many as this process has CPUs to run on where no number is given; none is started before it has work.

    They begin afresh instead of as copies of this one, whose threads and sockets they must not have. The higher
    ``niceness``, the more they yield to others. They end with this process, also where it is killed. What waits when
    the block raises is not begun.
    """
    with _pool(count or min(usable_cpus(), cpus_there()), niceness) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _pool(count: int, niceness: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _settle, (niceness,))


def background_process() -> Executor:
    """One process, started at once, that yields to all others from its first instruction on."""
    others = {child.pid for child in multiprocessing.active_children()}
    pool = _pool(1, BACKGROUND_NICENESS)
    pool.submit(os.getpid)  # a pool starts its processes when it has work
    for child in multiprocessing.active_children():
        if child.pid is not None and child.pid not in others:
            _yield_to_all(child.pid)
    return pool


def _settle(niceness: int) -> None:
    """Each process is one of many: it computes in one thread."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.setpriority(os.PRIO_PROCESS, 0, max(niceness, os.getpriority(os.PRIO_PROCESS, 0)))  # whatever its parent has
    if niceness >= BACKGROUND_NICENESS:
        _yield_to_all(os.getpid())
        if os.access(GROUP, os.W_OK):  # else a session of its own would have as much as its parent's
            lead_session(BACKGROUND_NICENESS)
    threadpool_limits(1)


def _yield_to_all(pid: int) -> None:
    """The process runs only where nothing else wants to, as far as the system knows such a thing."""
    if hasattr(os, "SCHED_IDLE"):
        with suppress(ProcessLookupError):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def _end_with_parent() -> None:
    """A parent that was killed could not say goodbye, and its pool would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
