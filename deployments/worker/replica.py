"""The worker as a Serve deployment."""

import ray
from ray import serve

from deployments.messages.worker import NetworkAddress, WorkerSpec
from deployments.worker.sockets.server import BatchServer
from deployments.worker.worker import Worker


class WorkerReplica(Worker):
    """A worker that takes batches over sockets, too, of which Serve knows nothing."""

    def __init__(self, spec: WorkerSpec) -> None:
        super().__init__(spec)
        self._sockets = BatchServer(self.run)

    async def local_socket(self, worker: str | None = None) -> str:
        """The name of the socket that processes of this machine may send batches to; empty where there is none."""
        self._check_meant(worker)
        return await self._sockets.open_local()

    async def network_socket(self, worker: str | None = None) -> NetworkAddress | None:
        """Where routers of other machines may send batches to; None where Ray encrypts what it sends.

        It listens once it was asked. Raises `OSError` where it cannot.
        """
        self._check_meant(worker)
        return await self._sockets.open_network(ray.util.get_node_ip_address())

    async def __del__(self) -> None:
        """Called by Serve before the replica stops: batches that came over sockets are answered first."""
        await self._sockets.close()


WorkerDeployment = serve.deployment(WorkerReplica)
"""`serve_app.main` sets name, replicas and resources per pool."""
