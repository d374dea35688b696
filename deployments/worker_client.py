"""The one place that calls workers."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ray.serve.handle import DeploymentHandle

from catalog.tensor import Arrays
from deployments.worker_messages import BatchResult, WorkerReport

T = TypeVar("T")


class WorkerGone(Exception):
    """The worker did not answer: it died, was cut off, or took longer than any batch should."""


class WorkerClient:
    """Wraps the deployment handle of one pool; every method is one remote call to one replica.

    Raises `WorkerGone` where no answer comes; cancel the call to give up on it.
    """

    def __init__(self, pool: str, handle: DeploymentHandle) -> None:
        self.pool = pool
        self._handle = handle
        self._addressed: dict[str, DeploymentHandle] = {}

    async def reach_any(self) -> WorkerReport:
        """Describe whichever worker; the first call makes Serve tell this process who is alive."""
        return await self._call(self._handle.describe.remote)

    async def describe(self, worker: str) -> WorkerReport:
        """What the worker holds."""
        return await self._call(self._to(worker).describe.remote, worker)

    async def run(self, worker: str, variant: str, inputs: Arrays) -> BatchResult:
        """Run one stacked batch."""
        return await self._call(self._to(worker).run.remote, variant, inputs, worker)

    def forget(self, worker: str) -> None:
        """The worker is gone for good."""
        self._addressed.pop(worker, None)

    def _to(self, worker: str) -> DeploymentHandle:
        handle = self._addressed.get(worker)
        if handle is None:
            handle = self._addressed[worker] = self._handle.options(multiplexed_model_id=worker)
        return handle

    async def _call(self, remote: Callable[..., Awaitable[T]], *args: object) -> T:
        try:
            return await remote(*args)
        except Exception as error:  # what variants raise comes back as a value, so this is the way to the worker
            raise WorkerGone(f"{type(error).__name__}: {error}") from error
