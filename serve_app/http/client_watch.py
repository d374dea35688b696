"""Sees a client leave: while its answer is made, and before."""

import asyncio
import select
from collections.abc import Callable
from typing import Any

from starlette.types import Receive


def has_left(receive: Receive) -> bool:
    """Whether the client has closed its connection, as the kernel knows it; False where the server shows no socket.

    An event loop that is late hears of it only after it has begun with the request. For uvicorn, whose ``receive`` is a
    method of what has the transport.
    """
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    connection = None if transport is None else transport.get_extra_info("socket")
    if connection is None or (descriptor := connection.fileno()) < 0:
        return transport is not None and transport.is_closing()
    looking = select.poll()
    looking.register(descriptor, select.POLLRDHUP)
    return bool(looking.poll(0))


def leave_unanswered(receive: Receive) -> None:
    """Close the connection of a client that `has_left`.

    uvicorn, which may not have heard of it yet, would write an error to its log and a 500 to nobody.
    """
    cycle = getattr(receive, "__self__", None)
    transport = getattr(cycle, "transport", None)
    if cycle is not None and transport is not None:
        cycle.disconnected = True
        transport.close()


class ClientWatch:
    """Waits for ``http.disconnect`` beside an asyncio task and calls ``on_gone`` once it comes; `end` stops that.

    Steps through ``receive`` by hand, as a task would: a task of its own per request costs six times as much. For
    servers of asyncio, whose ``receive`` waits for futures.
    """

    __slots__ = ("_ended", "_on_gone", "_receiving", "gone")

    def __init__(self, receive: Receive, on_gone: Callable[[], object]) -> None:
        self._on_gone = on_gone
        self.gone = False
        self._ended = False
        self._receiving: Any = receive()
        self._step()

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._ended = True
        self._receiving.close()

    def _step(self, _: object = None) -> None:
        if self._ended:  # the client left at the instant at which its answer was there
            return
        try:
            awaited = self._receiving.send(None)
        except StopIteration as received:
            if received.value["type"] == "http.disconnect":
                self.gone = True
                self._on_gone()
            return
        if awaited is None:  # it lets others run for once
            asyncio.get_running_loop().call_soon(self._step)
            return
        awaited._asyncio_future_blocking = False  # seen, as `asyncio.Task` says it
        awaited.add_done_callback(self._step)
