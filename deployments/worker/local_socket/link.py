"""The router's end of a local socket: one connection to one worker."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from itertools import count

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.worker.local_socket.frames import LIMIT_BYTES, Call, Cancel, Reply, receive, same_user, send


class CallRefused(Exception):
    """The worker would not have a batch, for the reason told."""


class LinkLost(Exception):
    """The connection ended under a batch: the worker's process did."""


class LocalLink:
    """Batches to one worker and their results; made by `open`, on the event loop that it lives on."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._writer = writer
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[BatchResult]] = {}
        self._closes = False
        self._reading = asyncio.create_task(self._read(reader))
        self._reading.add_done_callback(self._ended)  # also where it is cancelled before it begins

    @classmethod
    async def open(cls, name: str) -> "LocalLink":
        """Connect to the socket of that name; raises `OSError` where there is none, or one of another user."""
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            end.setblocking(False)
            end.connect(name)  # uvloop knows no abstract names; this is done at once or not at all (unix(7))
            if not same_user(end):
                raise PermissionError("the process that listens there is of another user")
            return cls(*await asyncio.open_unix_connection(sock=end, limit=LIMIT_BYTES))
        except BaseException:
            end.close()
            raise

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._reading.done()

    async def run(self, variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        """Run one stacked batch; ``inputs`` may not change meanwhile. Raises `CallRefused` and `LinkLost`.

        Cancel it to give up on it: the worker then does not run it, unless it has begun to.
        """
        if self.lost:
            raise LinkLost
        number = next(self._numbers)
        result: asyncio.Future[BatchResult] = asyncio.get_running_loop().create_future()
        self._waiting[number] = result
        try:
            send(self._writer, Call(number, variant, inputs, worker, router), copy=False)
            return await result
        except asyncio.CancelledError:
            if not self.lost:
                send(self._writer, Cancel(number), copy=True)
            raise
        finally:
            self._waiting.pop(number, None)
            self._hang_up_if_done()

    def close(self) -> None:
        """Hang up once no batch is under way."""
        self._closes = True
        self._hang_up_if_done()

    async def _read(self, reader: StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                reply = await receive(reader)
                if isinstance(reply, Reply):
                    self._take(reply)

    def _ended(self, _: "asyncio.Task[None]") -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LinkLost())
        self._writer.close()

    def _hang_up_if_done(self) -> None:
        if self._closes and not self._waiting:
            self._reading.cancel()

    def _take(self, reply: Reply) -> None:
        waiting = self._waiting.get(reply.number)
        if waiting is None or waiting.done():
            return
        if reply.result is None:
            waiting.set_exception(CallRefused(reply.error))
        else:
            waiting.set_result(reply.result)
