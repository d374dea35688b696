"""A worker's end and a router's end of a socket, for tests: on this machine, or as if over a network."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from catalog.tensor import Arrays
from deployments.messages.worker import BatchResult
from deployments.worker.sockets.link import BatchLink
from deployments.worker.sockets.server import BatchServer

Open = Callable[[BatchServer], Awaitable[BatchLink]]


async def open_local(server: BatchServer) -> BatchLink:
    """A link by the worker's Unix socket."""
    return await BatchLink.open_local(await server.open_local())


async def open_network(server: BatchServer) -> BatchLink:
    """A link by TCP."""
    address = await server.open_network("127.0.0.1")
    assert address is not None
    return await BatchLink.open_network(address)


class Doubling:
    """Doubles its inputs when `go` is set; keeps what it was asked, and what it gave up."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked: list[tuple[str, str, str | None]] = []
        self.cancelled = 0
        self.raises: BaseException | None = None

    async def run(self, variant: str, inputs: Arrays, worker: str, router: str | None) -> BatchResult:
        """What a worker does with a batch."""
        self.asked.append((variant, worker, router))
        if self.raises is not None:
            raise self.raises
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        for array in inputs.values():
            array *= 2  # as a runtime might: they are the worker's own
        return BatchResult(inputs, 0.25, waited_s=0.5)

    async def until_asked(self, number: int = 1) -> None:
        """That many calls have come."""
        while len(self.asked) < number:
            await asyncio.sleep(0.001)


@asynccontextmanager
async def connected(open_link: Open) -> AsyncIterator[tuple[Doubling, BatchServer, BatchLink]]:
    """A worker, its end and a router's, until the block ends."""
    worker = Doubling()
    server = BatchServer(worker.run)
    link = await open_link(server)
    try:
        yield worker, server, link
    finally:
        worker.go.set()
        await hung_up(link)
        await server.close()


async def hung_up(link: BatchLink) -> None:
    """The link is closed, down to its socket."""
    link.close()
    with suppress(OSError):
        await link._writer.wait_closed()
