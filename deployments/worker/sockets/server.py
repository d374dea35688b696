"""The worker's end of sockets: takes batches of routers."""

import asyncio
import logging
import os
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from catalog.tensor import Arrays
from catalog.user_code.raised import text_of
from deployments.messages.worker import BatchResult, NetworkAddress
from deployments.worker.sockets.frames import LIMIT_BYTES, Call, Cancel, Reply, receive, send
from deployments.worker.sockets.peer import TOKEN_BYTES, end_of, meet_router, same_user, watch

logger = logging.getLogger("ray.serve")

Run = Callable[[str, Arrays, str, str | None], Awaitable[BatchResult]]
"""Runs one batch: variant, inputs, the worker that is meant, the router that asks."""

ENDED = (asyncio.IncompleteReadError, OSError)
MEETING_S = 5.0
"""Who does not show within it that it knows the token is hung up on."""


class BatchServer:
    """Has ``run`` called for every batch that comes; lives on the worker's event loop.

    The local socket lies in Linux's abstract namespace, under a name nobody can guess, and leaves no file behind.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._token = os.urandom(TOKEN_BYTES)
        self._local: asyncio.Server | None = None
        self._network: asyncio.Server | None = None
        self._name = ""
        self._stops = False
        self._calls: set[asyncio.Task[None]] = set()
        self._writers: set[StreamWriter] = set()
        self._opening = asyncio.Lock()

    async def open_local(self) -> str:
        """Begin to listen on this machine, the first time; gives the socket's name, empty where there are no such."""
        if sys.platform != "linux":
            return ""
        async with self._opening:
            if self._local is None:
                self._name = f"\0accord-worker-{os.urandom(16).hex()}"
                self._local = await asyncio.start_unix_server(self._serve_local, self._name, limit=LIMIT_BYTES)
        return self._name

    async def open_network(self, host: str) -> NetworkAddress | None:
        """Begin to listen at ``host``, the first time; None where Ray encrypts what it sends (``RAY_USE_TLS``).

        Raises `OSError` where this machine does not have that address.
        """
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return None
        async with self._opening:
            if self._network is None:
                self._network = await asyncio.start_server(self._serve_network, host, 0, limit=LIMIT_BYTES)
        return NetworkAddress(host, self._network.sockets[0].getsockname()[1], self._token)

    async def close(self) -> None:
        """Take no more batches, and hang up once those that are here have been answered."""
        self._stops = True
        for server in (self._local, self._network):
            if server is not None:
                server.close()
        while self._calls:
            await asyncio.wait(self._calls)
        for writer in self._writers:
            writer.close()  # sends what is left first

    async def _serve_local(self, reader: StreamReader, writer: StreamWriter) -> None:
        with end_of(writer) as end:
            known = same_user(end)
        if known:
            await self._serve(reader, writer)
        else:
            writer.close()

    async def _serve_network(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            with end_of(writer) as end:
                watch(end)
            async with asyncio.timeout(MEETING_S):
                await meet_router(reader, writer, self._token)
        except (*ENDED, TimeoutError) as error:
            logger.warning("Hung up on %s: %s", writer.get_extra_info("peername"), error)
            writer.close()
        else:
            await self._serve(reader, writer)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
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
            except BaseException as error:  # what variants raise is in the result
                if _is_cancelled():  # nobody waits for it
                    raise
                reply = Reply(call.number, None, f"{type(error).__name__}: {text_of(error)}")
        try:
            send(writer, reply, copy=True)  # a runtime may use its outputs' memory again
            await writer.drain()
        except OSError:
            logger.info("A router hung up before its batch was answered.")


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
