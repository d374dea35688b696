"""An open-loop client in a process of its own; as the module of a command it is that process.

The process reads loads from its standard input, pickled, and writes what came back to its standard output.
"""

import gc
import os
import pickle
import select
import sys
import time
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.overload.connection import LOST, Connection
from benchmarks.overload.sent import Sent
from serve_app.cli.drive import allow_open_files

TIMEOUT_S = 5.0
"""Queries without an answer so long after the last one of their load count as lost."""

TICK_S = 0.001
"""Sleeps so long at a time; an answer that comes meanwhile is looked at afterwards, and its latency ends then.

The client shares a core with the proxy. Woken by every single answer it took twice as much of that core (0.36 instead
of 0.18 of it at 17,000 queries/s), so that a pause of the machine left the proxy no time to catch up.
"""

AT_ONCE = 64
"""Queries sent, or connections opened, before answers are looked at again."""

MOST_OPENING = 4000
"""So many connections may be about to be opened; a query beyond them is lost, as the system would take no more."""

READY_S = 0.05
"""A load begins with as many connections as it has queries in so long: its clients have been there before. To open one
costs client and proxy ten times what a query does, of the core that they share."""

OLDEST_EVERY = 16
"""One query in so many takes the connection that has been idle for longest, so that all are used within seconds, and
the proxy ends none for asking nothing (10 s); the others take the last one, which costs both a third less."""


class Client:
    """Sends prepared requests to one port of this machine, one load at a time."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        self._port = port
        self._requests = requests
        self._epoll = select.epoll()
        self._open: dict[int, Connection] = {}  # by file, those that are being opened as well
        self._opening: set[Connection] = set()
        self._idle: deque[Connection] = deque()
        self._leaving: deque[tuple[float, Connection, int]] = deque()

    def run(self, times_s: NDArray[np.float64], leaving_s: float | None = None) -> Sent:
        """Connect, then send at these offsets. With ``leaving_s``, every client leaves so long after it has asked."""
        due = times_s.tolist()
        self._sent_s = [np.nan] * len(due)
        self._done_s = [np.nan] * len(due)
        self._status = [LOST] * len(due)
        self._left, self._opened = len(due), 0
        self._be_there(round(READY_S * len(due) / max(due[-1], READY_S)))
        cpu_s = time.process_time()
        self._began_s = time.monotonic()
        query, end_s = 0, np.inf
        while self._left and self._now_s() < end_s:
            for _ in range(AT_ONCE):
                if query == len(due) or due[query] > self._now_s():
                    time.sleep(TICK_S)
                    break
                self._ask(query, leaving_s)
                query += 1
                if query == len(due):
                    end_s = self._now_s() + TIMEOUT_S
            self._take_answers()
            self._leave()
        cpu_s = time.process_time() - cpu_s
        self._close()
        sent_s, done_s = np.asarray(self._sent_s), np.asarray(self._done_s)
        return Sent(times_s, sent_s, done_s, np.asarray(self._status, dtype=np.int16), cpu_s, self._opened)

    def _now_s(self) -> float:
        return time.monotonic() - self._began_s

    def _be_there(self, connections: int) -> None:
        left, end_s = min(connections, MOST_OPENING), time.monotonic() + TIMEOUT_S
        while left > 0 and time.monotonic() < end_s:
            opening = [self._connect() for _ in range(min(left, AT_ONCE))]
            left -= len(opening)
            while any(one.fileno() >= 0 and not one.opened for one in opening) and time.monotonic() < end_s:
                time.sleep(TICK_S)
                self._take_answers()

    def _connect(self) -> Connection:
        self._opened += 1
        connection = Connection(self._port)
        if connection.refused:
            connection.close()
        else:
            self._open[connection.fileno()] = connection
            self._opening.add(connection)
            self._epoll.register(connection, select.EPOLLOUT)
        return connection

    def _ask(self, query: int, leaving_s: float | None) -> None:
        self._sent_s[query] = self._now_s()
        request = self._requests[query % len(self._requests)]
        while self._idle:
            connection = self._idle.pop() if query % OLDEST_EVERY else self._idle.popleft()
            if connection.opened and connection.send(query, request):
                break
            self._forget(connection)
        else:
            if len(self._opening) >= MOST_OPENING or (connection := self._connect()).refused:
                self._end(query, LOST)
                return
            connection.send(query, request)
        if leaving_s is not None:
            self._leaving.append((self._sent_s[query] + leaving_s, connection, query))

    def _take_answers(self) -> None:
        for file, events in self._epoll.poll(0):
            connection = self._open.get(file)
            if connection is None:  # it was closed a moment ago
                continue
            if not connection.opened:
                self._opening.discard(connection)
                if connection.on_writable():
                    self._epoll.modify(connection, select.EPOLLIN)
                    if not connection.asked:
                        self._idle.append(connection)
                else:
                    self._lose(connection)
            elif events & ~select.EPOLLOUT:
                self._take(connection)

    def _take(self, connection: Connection) -> None:
        status = connection.on_readable()
        if status == LOST:
            self._lose(connection)
        elif status is not None:
            self._end(connection.query, status)
            if connection.opened:
                self._idle.append(connection)
            else:
                self._forget(connection)

    def _leave(self) -> None:
        while self._leaving and self._leaving[0][0] <= self._now_s():
            _, connection, query = self._leaving.popleft()
            if connection.asked and connection.query == query:
                self._lose(connection)

    def _lose(self, connection: Connection) -> None:
        """It is of no use any more; what it was asked has no answer."""
        if connection.asked:
            self._end(connection.query, LOST)
        self._forget(connection)

    def _end(self, query: int, status: int) -> None:
        if status != LOST:
            self._done_s[query] = self._now_s()
            self._status[query] = status
        self._left -= 1

    def _forget(self, connection: Connection) -> None:
        self._open.pop(connection.fileno(), None)
        self._opening.discard(connection)
        connection.close()

    def _close(self) -> None:
        for connection in self._open.values():
            connection.close()
        self._open.clear()
        self._opening.clear()
        self._idle.clear()
        self._leaving.clear()


def main() -> None:
    """Serve loads until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")  # what else writes to standard output may not come between
    os.dup2(2, 1)
    port, requests = pickle.load(sys.stdin.buffer)
    allow_open_files()
    client = Client(port, requests)
    while True:
        try:
            times_s, leaving_s = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        gc.collect()
        gc.disable()
        pickle.dump(client.run(times_s, leaving_s), answers)
        answers.flush()
        gc.enable()


if __name__ == "__main__":
    main()
