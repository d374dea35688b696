"""A connection over which anything may be sent, and what comes back over it."""

import asyncio
import contextlib
from dataclasses import dataclass

ANSWER_S = 20.0
BROKEN_S = 0.5
"""For what nobody has to answer: some servers wait for the rest, and others close at once."""
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class Reply:
    """``status`` is None where the connection was ``closed``, or nothing came in time."""

    status: int | None
    body: bytes = b""
    closed: bool = False


class Connection:
    """Opens when it is needed, and again where the server closed it."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, contents: list[bytes], heads: list[bool], within_s: float) -> list[Reply]:
        """Write several requests at once, as pipelining does, and read their answers; none came of what is closed."""
        try:
            async with asyncio.timeout(within_s):
                reader, writer = await self._open()
                writer.write(b"".join(contents))
                replies: list[Reply] = []
                with contextlib.suppress(OSError):
                    await writer.drain()
                for head in heads:
                    reply, keeps = await _reply(reader, head)
                    replies.append(reply)
                    if not keeps:
                        await self.close()
                        break
                return replies + [Reply(None, closed=True)] * (len(heads) - len(replies))
        except TimeoutError:
            await self.close()
            return [Reply(None)] * len(heads)
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            await self.close()
            return [Reply(None, closed=True)] * len(heads)

    async def close(self) -> None:
        """Let go of the connection; one that is closed is fine."""
        if self._streams is not None:
            writer = self._streams[1]
            self._streams = None
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof() or self._streams[1].is_closing():
            await self.close()
            self._streams = await asyncio.open_connection(self._host, self._port, limit=HEAD_BYTES)
        return self._streams


async def _reply(reader: asyncio.StreamReader, head: bool) -> tuple[Reply, bool]:
    """One answer, and whether the connection stays; raises ValueError where it is none."""
    start, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
    version, _, status = start.partition(b" ")
    if not version.startswith(b"HTTP/1."):
        raise ValueError(f"{start!r} is no HTTP")
    code = int(status[:3])
    lines = (line.partition(b":") for line in rest.split(b"\r\n") if line)
    headers = {name.strip().lower(): value.strip().lower() for name, _, value in lines}
    keeps = headers.get(b"connection") != b"close"
    if head or code in (204, 304) or code < 200:
        return Reply(code), keeps
    if b"content-length" in headers:
        return Reply(code, await reader.readexactly(int(headers[b"content-length"]))), keeps
    if headers.get(b"transfer-encoding") == b"chunked":
        return Reply(code, await _chunks(reader)), keeps
    return Reply(code, await reader.read()), False


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readline()).strip(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)
