"""One HTTP/1.1 connection of a client that must cost next to nothing: prepared requests, answers not decoded."""

import asyncio
from collections.abc import Callable
from typing import cast

Ended = Callable[["Connection", int], None]
"""Called with the connection and the status of the answer; `LOST` where the connection ended without one."""

LOST = 0


class Connection(asyncio.Protocol):
    """Sends one request at a time; ``ended`` says when its answer is there whole."""

    def __init__(self, ended: Ended) -> None:
        self.query = -1
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._data = b""
        self._asked = False

    @property
    def open(self) -> bool:
        """Whether another request may be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, query: int, request: bytes) -> None:
        """Send a request, the ``query``-th of its run."""
        assert self._transport is not None
        self.query, self._asked, self._data = query, True, b""
        self._transport.write(request)

    def close(self) -> None:
        """Leave at once, whatever was asked."""
        self._asked = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class

    def data_received(self, data: bytes) -> None:
        """Called by the event loop; most answers come in one piece."""
        self._data = data = self._data + data if self._data else data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = data[:end].lower()
        length = head.find(b"content-length:")
        size = int(head[length + 15 :].split(b"\r\n", 1)[0]) if length >= 0 else 0
        if len(data) >= end + 4 + size and self._asked:
            if b"connection: close" in head and self._transport is not None:
                self._transport.close()
            self._asked = False
            self._ended(self, int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        self._transport = None
        if self._asked:
            self._asked = False
            self._ended(self, LOST)
