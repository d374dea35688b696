"""The one place that calls workers."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from ray.exceptions import ActorDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError
from ray.serve.handle import DeploymentHandle

from catalog.errors import AccordError
from catalog.profiles.profile import LatencyProfile
from catalog.tensor import Arrays
from catalog.variant import Variant
from deployments.messages.worker import BatchResult, WorkerReport
from deployments.worker import membership
from deployments.worker.sockets.link import BatchLink, CallRefused, LinkLost

logger = logging.getLogger("ray.serve")

T = TypeVar("T")


def follow_pools(clients: "Mapping[str, WorkerClient]", on_members: Callable[[str, frozenset[str]], None]) -> None:
    """Hear of the live workers of every pool, by pool, on the running event loop; returns at once."""
    loop = asyncio.get_running_loop()
    for pool, client in clients.items():
        # Serve may report from a thread of its own.
        report = functools.partial(on_members, pool)
        membership.listen(pool, functools.partial(_hop, loop, report))
        client.follow()


CONNECT_TIMEOUT_S = 10.0
NETWORK_TIMEOUT_S = 3.0
"""A machine that has not answered by then lets nothing through."""

DEATHS = (ActorDiedError, OutOfMemoryError, WorkerCrashedError)


class WorkerGone(Exception):
    """No answer of the worker: it ``died``, was cut off, or belongs to another router."""

    def __init__(self, why: str, *, died: bool = False) -> None:
        super().__init__(why)
        self.died = died


class WorkerClient:
    """Wraps the deployment handle of one pool; every coroutine is one remote call to one replica.

    Batches go over a socket of their own to workers that were connected with: by the handle they cost three
    to five times the processor time. ``router`` is who batches are from, None for one that they need not
    belong to. Raises `WorkerGone` where no answer comes, and where the worker belongs to another router; cancel the
    call to give up on it.
    """

    def __init__(self, pool: str, handle: DeploymentHandle, router: str | None = None) -> None:
        self.pool = pool
        self._handle = handle
        self._router = router
        self._addressed: dict[str, DeploymentHandle] = {}
        self._links: dict[str, BatchLink] = {}

    def follow(self) -> None:
        """Make Serve tell this process who is alive, none included (`membership`); without a call.

        To be called on the event loop that calls will come from.
        """
        self._handle.options()  # Serve connects a handle with its deployment when it is first used

    async def describe(self, worker: str) -> WorkerReport:
        """What the worker holds."""
        return await self._call(self._to(worker).describe.remote, worker)

    async def connect(self, worker: str) -> None:
        """Have batches go over a socket from now on, if the worker can be reached so."""
        link = self._links.get(worker)
        if link is not None and not link.lost:
            return
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                self._links[worker] = await self._open_link(worker)
        except (WorkerGone, OSError, TimeoutError) as error:  # where it is gone the handle says so
            logger.info("Worker %s takes batches by Serve's handle only: %s", worker, error or type(error).__name__)

    async def run(self, worker: str, variant: str, inputs: Arrays) -> BatchResult:
        """Run one stacked batch; ``inputs`` may not change meanwhile."""
        link = self._links.get(worker)
        if link is not None and not link.lost:
            try:
                return await link.run(variant, inputs, worker, self._router)
            except CallRefused as error:
                raise WorkerGone(str(error)) from error
            except LinkLost as error:
                raise WorkerGone(str(error), died=not error.cut_off) from error
        return await self._call(self._to(worker).run.remote, variant, inputs, worker, self._router)

    async def assign(self, worker: str, router: str | None) -> WorkerReport:
        """Have the worker run batches of this router only, after those that it has; of nobody where it is None."""
        return await self._call(self._to(worker).assign.remote, router, worker)

    async def load(self, worker: str, variant: Variant) -> WorkerReport:
        """Have it load a variant beside its others; whether it could is in the report."""
        return await self._call(self._to(worker).load.remote, variant, worker)

    async def unload(self, worker: str, variant: str) -> WorkerReport:
        """Have it let go of a variant, if it holds it."""
        return await self._call(self._to(worker).unload.remote, variant, worker)

    async def profile(self, worker: str, variant: Variant, budget_s: float) -> LatencyProfile:
        """Have it measure a variant between its batches.

        Raises `ArtifactError` or `ConfigError` where the variant cannot be loaded or run.
        """
        try:
            return await self._call(self._to(worker).profile.remote, variant, budget_s, worker)
        except WorkerGone as error:
            if isinstance(error.__cause__, AccordError):  # it did answer
                raise error.__cause__ from None
            raise

    def forget(self, worker: str) -> None:
        """The worker is gone for good."""
        self._addressed.pop(worker, None)
        if (link := self._links.pop(worker, None)) is not None:
            link.close()

    async def _open_link(self, worker: str) -> BatchLink:
        name = await self._call(self._to(worker).local_socket.remote, worker)
        if name:
            with suppress(OSError):  # on another machine nobody has a socket of that name
                return await BatchLink.open_local(name)
        address = await self._call(self._to(worker).network_socket.remote, worker)
        if address is None:
            raise ConnectionRefusedError("it is on another machine, and Ray encrypts what it sends there")
        async with asyncio.timeout(NETWORK_TIMEOUT_S):
            return await BatchLink.open_network(address)

    def _to(self, worker: str) -> DeploymentHandle:
        handle = self._addressed.get(worker)
        if handle is None:
            handle = self._addressed[worker] = self._handle.options(multiplexed_model_id=worker)
        return handle

    async def _call(self, remote: Callable[..., Awaitable[T]], *args: object) -> T:
        try:
            return await remote(*args)
        except Exception as error:  # what variants raise comes back as a value, so this is the way to the worker
            # the message of Ray's own error is a traceback
            cause = error.cause if isinstance(error, RayTaskError) else error
            raise WorkerGone(f"{type(cause).__name__}: {cause}", died=isinstance(cause, DEATHS)) from cause


def _hop(loop: asyncio.AbstractEventLoop, report: membership.Listener, live: frozenset[str]) -> None:
    loop.call_soon_threadsafe(report, live)
