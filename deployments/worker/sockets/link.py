"""The router's end of a socket: one connection to one worker."""

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from itertools import count

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult, NetworkAddress
from deployments.worker.sockets.frames import LIMIT_BYTES, Call, Cancel, Reply, receive, send
from deployments.worker.sockets.peer import CUT_OFF, end_of, meet_worker, same_user, watch


class CallRefused(Exception):
    """The worker would not have a batch, for the reason told."""


class LinkLost(Exception):
    """The connection ended under a batch: the worker's process did, unless it was ``cut_off``."""

    def __init__(self, *, cut_off: bool) -> None:
        super().__init__("nothing comes through to its machine" if cut_off else "its process ended")
        self.cut_off = cut_off


class BatchLink:
    """Batches to one worker and their results, on the event loop on which `open_local` or `open_network` made it."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._writer = writer
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[BatchResult]] = {}
        self._closes = False
        self._cut_off = False
        self._reading = asyncio.create_task(self._read(reader))
        self._reading.add_done_callback(self._ended)  # also where it is cancelled before it begins

    @classmethod
    async def open_local(cls, name: str) -> "BatchLink":
        """Connect to the socket of that name; raises `OSError` where this machine has none, or one of another user."""
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

    @classmethod
    async def open_network(cls, address: NetworkAddress) -> "BatchLink":
        """Connect to a worker on another machine; raises `OSError` where it is not there, or is not that worker."""
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=LIMIT_BYTES)
        try:
            with end_of(writer) as end:
                watch(end)
            await meet_worker(reader, writer, address.token)
        except asyncio.IncompleteReadError as error:
            writer.close()
            raise ConnectionResetError("the worker hung up") from error
        except BaseException:
            writer.close()
            raise
        return cls(reader, writer)

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._reading.done()

    async def run(self, variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        """Run one stacked batch; ``inputs`` may not change meanwhile. Raises `CallRefused` and `LinkLost`.

        Cancel it to give up on it: the worker then does not run it, unless it has begun to.
        """
        if self.lost:
            raise LinkLost(cut_off=self._cut_off)
        number = next(self._numbers)
        result: asyncio.Future[BatchResult] = asyncio.get_running_loop().create_future()
        self._waiting[number] = result
        try:
            self._send(Call(number, variant, inputs, worker, router), copy=False)
            return await result
        except asyncio.CancelledError:
            if not self.lost:
                with suppress(LinkLost):
                    self._send(Cancel(number), copy=True)
            raise
        finally:
            self._waiting.pop(number, None)
            self._hang_up_if_done()

    def close(self) -> None:
        """Hang up once no batch is under way."""
        self._closes = True
        self._hang_up_if_done()

    def _send(self, message: Call | Cancel, *, copy: bool) -> None:
        try:
            send(self._writer, message, copy=copy)
        except RuntimeError as error:  # uvloop has closed the transport, and what reads has yet to hear of it
            raise LinkLost(cut_off=self._cut_off) from error

    async def _read(self, reader: StreamReader) -> None:
        try:
            while True:
                reply = await receive(reader)
                if isinstance(reply, Reply):
                    self._take(reply)
        except asyncio.IncompleteReadError:
            pass
        except OSError as error:
            self._cut_off = error.errno in CUT_OFF

    def _ended(self, _: "asyncio.Task[None]") -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LinkLost(cut_off=self._cut_off))
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
