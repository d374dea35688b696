"""Running a load client to its end: event loop, Ctrl-C, progress, open files."""

import asyncio
import contextlib
import gc
import importlib.util
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from serve_app.cli.console import ERR
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.record import Run

PROGRESS_EVERY_S = 0.5
OPEN_FILES = 65536
"""Sockets that a stalled server may leave open at once; the usual soft limit of 1024 is soon used up."""

T = TypeVar("T")


async def drive(client: OpenLoopClient, times_s: NDArray[np.float64], duration_s: float) -> Run:
    """Run to the end or to Ctrl-C, with a progress bar where a person watches."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows: there Ctrl-C ends without a report
        loop.add_signal_handler(signal.SIGINT, stop.set)
    ticker = asyncio.create_task(_show_progress(client, len(times_s)))
    gc.disable()  # a full collection stops the sending for tens of milliseconds; a run makes next to no cycles
    try:
        return await client.run(times_s, duration_s, stop)
    finally:
        gc.enable()
        ticker.cancel()
        await asyncio.gather(ticker, return_exceptions=True)
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)


async def _show_progress(client: OpenLoopClient, total: int) -> None:
    columns = (
        BarColumn(),
        TextColumn("{task.completed}/{task.total} sent, {task.fields[note]}"),
        TimeRemainingColumn(),
    )
    # Drawn from here and seldom: a refresh thread would hold up the sending.
    with Progress(*columns, console=ERR, auto_refresh=False, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("load", total=total, note="")
        while True:
            bar.update(task, completed=client.sent, note=f"{client.ended} ended, {client.failed} failed", refresh=True)
            await asyncio.sleep(PROGRESS_EVERY_S)


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop where it is installed, else on the standard loop."""
    factory = None
    if importlib.util.find_spec("uvloop"):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def allow_open_files() -> None:
    """Raise this process's limit on open files towards `OPEN_FILES`, as far as the system lets it."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # no such limit on Windows; no right to raise it here
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
