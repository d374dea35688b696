"""The worker's end of local sockets: takes batches of the routers on its machine."""

import asyncio
import logging
import os
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.worker.local_socket.frames import LIMIT_BYTES, Call, Cancel, Reply, receive, same_user, send

logger = logging.getLogger("ray.serve")

Run = Callable[[str, Arrays, str, str | None], Awaitable[BatchResult]]
"""Runs one batch: variant, inputs, the worker that is meant, the router that asks."""

ENDED = (asyncio.IncompleteReadError, OSError)


class LocalServer:
    """Has ``run`` called for every batch that comes; lives on the worker's event loop.

    The socket lies in Linux's abstract namespace, under a name nobody can guess, and leaves no file behind.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._server: asyncio.Server | None = None
        self._name = ""
        self._stops = False
        self._calls: set[asyncio.Task[None]] = set()
        self._writers: set[StreamWriter] = set()
        self._opening = asyncio.Lock()

    async def open(self) -> str:
        """Begin to listen, the first time; gives the socket's name, empty on systems without such names."""
        if sys.platform != "linux":
            return ""
        async with self._opening:
            if self._server is None:
                self._name = f"\0accord-worker-{os.urandom(16).hex()}"
                self._server = await asyncio.start_unix_server(self._serve, self._name, limit=LIMIT_BYTES)
        return self._name

    async def close(self) -> None:
        """Take no more batches, and hang up once those that are here have been answered."""
        self._stops = True
        if self._server is not None:
            self._server.close()
        while self._calls:
            await asyncio.wait(self._calls)
        for writer in self._writers:
            writer.close()  # sends what is left first

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as end:
            if not same_user(end):
                writer.close()
                return
        self._writers.add(writer)
        mine: dict[int, asyncio.Task[None]] = {}
        try:
            with suppress(*ENDED):
                while True:
                    message = await receive(reader)
                    if isinstance(message, Call):
                        mine[message.number] = self._begin(message, writer, mine)
                    elif isinstance(message, Cancel) and message.number in mine:
                        mine[message.number].cancel()
        finally:  # the router is gone: what has not begun to run need not
            for task in tuple(mine.values()):
                task.cancel()
            self._writers.discard(writer)
            writer.close()

    def _begin(self, call: Call, writer: StreamWriter, mine: dict[int, asyncio.Task[None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._answer(call, writer))
        self._calls.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            self._calls.discard(task)
            mine.pop(call.number, None)

        task.add_done_callback(ended)
        return task

    async def _answer(self, call: Call, writer: StreamWriter) -> None:
        if self._stops:
            reply = Reply(call.number, None, "this worker is stopping")
        else:
            try:
                reply = Reply(call.number, await self._run(call.variant, call.inputs, call.worker, call.router))
            except Exception as error:  # what variants raise is in the result
                reply = Reply(call.number, None, f"{type(error).__name__}: {error}")
        try:
            send(writer, reply, copy=True)  # a runtime may use its outputs' memory again
            await writer.drain()
        except OSError:
            logger.info("A router hung up before its batch was answered.")
