"""The worker as a Serve deployment."""

from ray import serve

from deployments.messages.worker import WorkerSpec
from deployments.worker.local_socket.server import LocalServer
from deployments.worker.worker import Worker


class WorkerReplica(Worker):
    """A worker that takes batches over a local socket, too, of which Serve knows nothing."""

    def __init__(self, spec: WorkerSpec) -> None:
        super().__init__(spec)
        self._local = LocalServer(self.run)

    async def local_socket(self, worker: str | None = None) -> str:
        """The name of the socket that processes of this machine may send batches to; empty where there is none."""
        self._check_meant(worker)
        return await self._local.open()

    async def __del__(self) -> None:
        """Called by Serve before the replica stops: batches that came over the socket are answered first."""
        await self._local.close()


WorkerDeployment = serve.deployment(WorkerReplica)
"""`serve_app.main` sets name, replicas and resources per pool."""
