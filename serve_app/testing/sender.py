"""The open-loop load generator in a process of its own, so that nothing else of a benchmark delays its queries.

The process reads loads from its standard input, pickled, and writes what came back to its standard output. As the
module of a command it is that process.
"""

import asyncio
import gc
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from serve_app.cli.drive import allow_open_files, run_loop
from serve_app.loadgen.client import OpenLoopClient
from serve_app.loadgen.dataset import Dataset
from serve_app.testing.queries import Queries

TIMEOUT_S = 10.0
"""A query that is not answered by then failed, unless a sender is given another time."""

STOP_S = 5.0


@dataclass(frozen=True, eq=False)
class Load:
    """Arrivals as offsets in seconds from ``begin_s``, an instant of the monotonic clock, over ``duration_s``."""

    times_s: NDArray[np.float64]
    duration_s: float
    begin_s: float


class Sender:
    """Sends ``dataset`` to ``infer_url``, one load after another; ends with its block. One load at a time.

    ``classes`` and ``timeout_s`` are as for `OpenLoopClient`.
    """

    def __init__(
        self, infer_url: str, dataset: Dataset, classes: Sequence[str] = (), timeout_s: float = TIMEOUT_S
    ) -> None:
        command = [sys.executable, "-m", "serve_app.testing.sender"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._write((infer_url, dataset, tuple(classes), timeout_s))

    def __enter__(self) -> "Sender":
        self._read()  # it has read the data set
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait(STOP_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def begin(self, load: Load) -> None:
        """Send a load; `finish` waits for it."""
        self._write(load)

    def finish(self) -> Queries:
        """Wait until the load that began last is sent and every query has ended. Raises EOFError where it died."""
        queries = self._read()
        assert isinstance(queries, Queries)
        return queries

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def _read(self) -> object:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)


def main() -> None:
    """Serve loads until standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints, it does not end up between the answers
    infer_url, dataset, classes, timeout_s = pickle.load(sys.stdin.buffer)
    allow_open_files()
    _answer(answers, None)
    while True:
        try:
            load = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _answer(answers, run_loop(_send(OpenLoopClient(infer_url, dataset, timeout_s, classes=classes), load)))


async def _send(client: OpenLoopClient, load: Load) -> Queries:
    gc.collect()
    gc.disable()  # a full collection would stop the sending for tens of milliseconds
    try:
        await asyncio.sleep(max(0.0, load.begin_s - time.monotonic()))
        began_s = time.monotonic()
        run = await client.run(load.times_s, load.duration_s, asyncio.Event())
    finally:
        gc.enable()
    return Queries.of(run.records, began_s)


def _answer(answers: BinaryIO, message: object) -> None:
    pickle.dump(message, answers)
    answers.flush()


if __name__ == "__main__":
    main()
