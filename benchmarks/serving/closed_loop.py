"""A cheap HTTP/1.1 client: C connections, each sending its next request when the last is answered.

Closed-loop on purpose: it finds what a server can do, not what its users see (`accord load` does that). Written
on bare asyncio protocols because the client shares two cores with the server that it measures, and a general
HTTP client would cost more than some of the servers.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import uvloop


@dataclass
class Measurement:
    """What the connections saw; ``errors`` counts answers that were not 200 and connections lost in mid-request."""

    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    errors: int = 0
    last_error: str = ""

    @property
    def rps(self) -> float:
        """Answers per second."""
        return len(self.latencies_s) / self.seconds

    def percentile_ms(self, percent: float) -> float:
        """Latency percentile; NaN where nothing was answered."""
        return float(np.percentile(self.latencies_s, percent)) * 1e3 if self.latencies_s else float("nan")


def measure(port: int, path: str, bodies: list[bytes], connections: int, seconds: float) -> Measurement:
    """Load ``127.0.0.1:port`` for ``seconds`` with POST requests that take their bodies in turn."""
    head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    requests = [head % (path.encode(), len(body)) + body for body in bodies]
    return uvloop.run(_measure(port, requests, connections, seconds))


async def _measure(port: int, requests: list[bytes], connections: int, seconds: float) -> Measurement:
    result = Measurement()
    loop = asyncio.get_running_loop()
    started_s = time.perf_counter()
    stop_s = started_s + seconds

    async def connection(first: int) -> None:
        turn = first
        while time.perf_counter() < stop_s:  # a server may close an idle or old connection: open another
            protocol = _Connection(requests, turn, stop_s, result)
            await loop.create_connection(lambda made=protocol: made, "127.0.0.1", port)  # type: ignore[misc]
            turn = await asyncio.wait_for(protocol.ended, seconds + 30)

    await asyncio.gather(*(connection(i * len(requests) // connections) for i in range(connections)))
    result.seconds = time.perf_counter() - started_s
    return result


class _Connection(asyncio.Protocol):
    """One connection; ``ended`` gives the turn at which the next one should go on."""

    def __init__(self, requests: list[bytes], turn: int, stop_s: float, result: Measurement) -> None:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._turn = turn
        self._stop_s = stop_s
        self._result = result
        self._received = b""
        self._size: int | None = None
        self._waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has a class of its own
        self._send()

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        self._waiting = True
        self._transport.write(self._requests[self._turn % len(self._requests)])
        self._turn += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._size is None:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            self._size = _message_size(self._received[:end].lower(), end + 4)
        if len(self._received) < self._size if self._size else not self._received.endswith(b"0\r\n\r\n"):
            return
        now_s = time.perf_counter()
        if self._received[9:12] == b"200":
            self._result.latencies_s.append(now_s - self._sent_s)
        else:
            self._result.errors += 1
            self._result.last_error = self._received.decode(errors="replace")[-300:]
        self._received, self._size, self._waiting = b"", None, False
        if now_s < self._stop_s:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting and self._received:
            self._result.errors += 1
            self._result.last_error = f"connection lost in the middle of an answer: {exc}"
        if not self.ended.done():
            self.ended.set_result(self._turn)


def _message_size(head: bytes, body_start: int) -> int:
    """Bytes of the whole message, or 0 for a chunked one."""
    at = head.find(b"content-length:")
    if at < 0:
        return 0
    end = head.find(b"\r\n", at)
    return body_start + int(head[at + 15 : end if end > 0 else len(head)])
