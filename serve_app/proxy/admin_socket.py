"""HAProxy's admin socket: questions to it, and a relay that gives the supervisor's process id for HAProxy's."""

import asyncio
import os
import re
import socket
from contextlib import suppress

PID = re.compile(rb"(?m)^Pid: \d+")
ANSWER_S = 5.0


def pid_behind(path: str) -> int | None:
    """The process that answers at an admin socket by its own account; None where none does."""
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(ANSWER_S)
            asked.connect(path)
            asked.sendall(b"show info\n")
            answer = b""
            while part := asked.recv(65536):
                answer += part
    except OSError:
        return None
    found = PID.search(answer)
    return None if found is None else int(found[0].split()[1])


async def ask(path: str, command: str) -> bytes:
    """The answer to one command; raises OSError where nobody answers in time."""
    async with asyncio.timeout(ANSWER_S):
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            writer.write(command.encode() + b"\n")
            return await reader.read()
        finally:
            writer.close()


class Relay:
    """Answers at ``outer`` what HAProxy answers at ``inner``, as this process: Serve knows no other."""

    def __init__(self, outer: str, inner: str) -> None:
        self._outer = outer
        self._inner = inner
        self._server: asyncio.AbstractServer | None = None

    async def open(self) -> None:
        """Take the path over from whoever answers there."""
        waiting = f"{self._outer}.{os.getpid()}"
        self._server = await asyncio.start_unix_server(self._serve, waiting)
        os.chmod(waiting, 0o600)
        os.replace(waiting, self._outer)

    def close(self) -> None:
        """Answer nobody any more; the path may be a successor's by now and stays."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            async with asyncio.timeout(ANSWER_S):
                command = (await reader.readline()).decode().strip()
            answer = await ask(self._inner, command)
            writer.write(PID.sub(b"Pid: %d" % os.getpid(), answer) if command == "show info" else answer)
            await writer.drain()
        writer.close()
