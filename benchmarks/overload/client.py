"""An open-loop client in a process of its own; as the module of a command it is that process.

The process reads loads from its standard input, pickled, and writes what came back to its standard output.
"""

import asyncio
import gc
import os
import pickle
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from benchmarks.overload.connection import LOST, Connection
from benchmarks.overload.sent import Sent
from serve_app.cli.drive import allow_open_files, run_loop

TIMEOUT_S = 5.0
"""Queries without an answer so long after the last one of their load count as lost."""

TICK_S = 0.001
MOST_CONNECTIONS = 4000
READY_S, AT_ONCE = 0.05, 64
"""A load begins with as many connections as it has queries in so long, opened so many at once: its clients have been
there before. To open one costs client and proxy ten times what a query does, of the core that they share."""


class Client:
    """Sends prepared requests to one port of this machine."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        self._port = port
        self._requests = requests
        self._idle: list[Connection] = []
        self._left = 0
        self._over: asyncio.Event = asyncio.Event()

    async def run(self, times_s: NDArray[np.float64], leaving_s: float | None = None) -> Sent:
        """Connect, then send at these offsets. With ``leaving_s``, every client leaves so long after it has asked."""
        self._sent_s = np.full(len(times_s), np.nan)
        self._done_s = np.full(len(times_s), np.nan)
        self._status = np.zeros(len(times_s), dtype=np.int16)
        self._opening: set[asyncio.Task[None]] = set()
        self._left = len(times_s)
        self._opened = 0
        self._over.clear()
        loop = asyncio.get_running_loop()
        due = times_s.tolist()
        await self._be_there(round(READY_S * len(due) / max(due[-1], READY_S)))
        cpu_s = time.process_time()
        self._began_s = began_s = time.monotonic()
        for query, at_s in enumerate(due):
            wait_s = began_s + at_s - time.monotonic()
            if wait_s > 0:
                await asyncio.sleep(max(wait_s, TICK_S))
            self._send(query, loop, leaving_s)
            if query % 64 == 63:
                await asyncio.sleep(0)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), TIMEOUT_S)
        while self._idle:
            self._idle.pop().close()
        return Sent(times_s, self._sent_s, self._done_s, self._status, time.process_time() - cpu_s, self._opened)

    async def _be_there(self, connections: int) -> None:
        left = min(connections, MOST_CONNECTIONS)
        while left > 0:
            connecting = [self._connect() for _ in range(min(left, AT_ONCE))]
            opened = await asyncio.gather(*connecting, return_exceptions=True)
            self._idle += [each for each in opened if isinstance(each, Connection)]
            left -= len(connecting)

    def _send(self, query: int, loop: asyncio.AbstractEventLoop, leaving_s: float | None) -> None:
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                self._ask(connection, query, leaving_s)
                return
        if len(self._opening) >= MOST_CONNECTIONS:
            self._end(query, LOST)
            return
        task = loop.create_task(self._open(query, leaving_s))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, query: int, leaving_s: float | None) -> None:
        try:
            connection = await self._connect()
        except OSError:
            self._end(query, LOST)
            return
        self._ask(connection, query, leaving_s)

    async def _connect(self) -> Connection:
        self._opened += 1
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: Connection(self._answered), "127.0.0.1", self._port)
        return connection

    def _ask(self, connection: Connection, query: int, leaving_s: float | None) -> None:
        self._sent_s[query] = time.monotonic() - self._began_s
        connection.send(query, self._requests[query % len(self._requests)])
        if leaving_s is not None:
            asyncio.get_running_loop().call_later(leaving_s, self._leave, connection, query)

    def _leave(self, connection: Connection, query: int) -> None:
        if connection.query == query and np.isnan(self._done_s[query]):
            connection.close()
            self._end(query, LOST)

    def _answered(self, connection: Connection, status: int) -> None:
        self._end(connection.query, status)
        if status != LOST and connection.open:
            self._idle.append(connection)

    def _end(self, query: int, status: int) -> None:
        if status != LOST:
            self._done_s[query] = time.monotonic() - self._began_s
            self._status[query] = status
        self._left -= 1
        if not self._left:
            self._over.set()


def main() -> None:
    """Serve loads until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")  # what else writes to standard output may not come between
    os.dup2(2, 1)
    port, requests = pickle.load(sys.stdin.buffer)
    allow_open_files()
    while True:
        try:
            times_s, leaving_s = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(run_loop(_run(port, requests, times_s, leaving_s)), answers)
        answers.flush()


async def _run(port: int, requests: Sequence[bytes], times_s: NDArray[np.float64], leaving_s: float | None) -> Sent:
    gc.collect()
    gc.disable()
    try:
        return await Client(port, requests).run(times_s, leaving_s)
    finally:
        gc.enable()


if __name__ == "__main__":
    main()
