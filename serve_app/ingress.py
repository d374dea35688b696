"""The Serve deployment that clients reach: a router behind the HTTP edge."""

import asyncio
import time
from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle

from deployments.guarantee_metrics import GuaranteeMetrics
from deployments.guarantee_watch import GuaranteeWatch
from deployments.router import Router
from deployments.table_keeper import TableKeeper
from deployments.table_making import Problems
from deployments.worker_client import WorkerClient
from dispatch.plan import Plan
from serve_app import fast_path
from serve_app.api import build_api
from serve_app.edge import Edge
from serve_app.endpoint_info import EndpointInfo


class Ingress:
    """One router with its edge, on the event loop of its replica."""

    def __init__(
        self,
        plan: Plan,
        endpoints: dict[str, EndpointInfo],
        problems: Problems,
        max_body_bytes: int,
        pools: dict[str, DeploymentHandle],
    ) -> None:
        self._endpoints = endpoints
        self._max_body_bytes = max_body_bytes
        self._router = Router(plan, {pool: WorkerClient(pool, handle) for pool, handle in pools.items()})
        self._problems = problems
        self._beside: list[asyncio.Task[None]] = []

    async def __serve_build_asgi_app__(self) -> Any:
        """Called by Serve on the replica's event loop, before the replica counts as ready."""
        await self._router.start()
        keeper = TableKeeper(self._router, self._problems, time.monotonic)
        watch = GuaranteeWatch(self._router, GuaranteeMetrics(), time.monotonic)
        self._beside = [asyncio.create_task(work) for work in (keeper.run(), watch.run())]
        name = serve.get_replica_context().replica_id.unique_id
        other = build_api(self._router, self._endpoints)
        edge = Edge(name, self._router, self._endpoints, self._max_body_bytes, other)
        fast_path.install(edge)
        return edge


RouterDeployment = serve.deployment(name="Router", max_ongoing_requests=10_000)(serve.ingress()(Ingress))
"""The ingress as a Serve deployment; how much may wait is the dispatcher's to decide, not Serve's."""
