"""What router and worker send each other over a socket, and how it looks there.

A frame is a message, pickled (protocol 5), behind the sizes of it and of the arrays that follow it as they lie in
memory. Either end knows by then that the other is of the service (`peer`), as Ray's own processes do, which pickle too.
"""

import pickle
import struct
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult

LIMIT_BYTES = 1 << 20
"""So much is read ahead of what is asked for."""

_HEAD = struct.Struct("<QQ")  # arrays, bytes of the message


@dataclass(frozen=True)
class Call:
    """A batch to run; ``router`` is whose it is, and ``worker`` who is meant."""

    number: int
    variant: str
    inputs: Arrays
    worker: str
    router: str | None


@dataclass(frozen=True)
class Cancel:
    """Nobody waits for that call any more."""

    number: int


@dataclass(frozen=True)
class Reply:
    """What a call came to: its ``result``, or in ``error`` why the worker would not have it."""

    number: int
    result: BatchResult | None
    error: str = ""


def send(writer: StreamWriter, message: object, *, copy: bool) -> None:
    """Put a message into what the writer has to send; without a ``copy`` its arrays may not change until it is sent."""
    kept: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=None if copy else kept.append)
    arrays = [each.raw() for each in kept]
    sizes = struct.pack(f"<{len(arrays)}Q", *(each.nbytes for each in arrays))
    writer.writelines([_HEAD.pack(len(arrays), len(body)) + sizes + body, *arrays])


async def receive(reader: StreamReader) -> object:
    """The next message; raises `asyncio.IncompleteReadError` or `OSError` where there is none to come."""
    arrays, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    sizes = struct.unpack(f"<{arrays}Q", await reader.readexactly(8 * arrays)) if arrays else ()
    body = await reader.readexactly(size)
    # bytes would make arrays that cannot be written to
    buffers = [bytearray(await reader.readexactly(each)) for each in sizes]
    return pickle.loads(body, buffers=buffers)
