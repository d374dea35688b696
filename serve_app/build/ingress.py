"""The Serve deployment that clients reach: a router behind the HTTP edge."""

import asyncio
import time
from math import inf
from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle

from catalog.tensor import Arrays
from deployments.controller.client import ControllerClient
from deployments.epoch_clock import epoch_clock
from deployments.router.control_link import ControlLink
from deployments.router.feedback.exchange import LearnedExchange
from deployments.router.feedback.feedback import Feedback
from deployments.router.feedback.labels import Label, Labels
from deployments.router.garbage import look_seldom
from deployments.router.live_accuracy.metrics import ShadowMetrics
from deployments.router.observing.guarantee_watch import GuaranteeWatch
from deployments.router.observing.metrics.guarantee_metrics import GuaranteeMetrics
from deployments.router.observing.metrics.refusal_metrics import RefusalMetrics
from deployments.router.observing.metrics.slowdown_metrics import SlowdownMetrics
from deployments.router.observing.metrics.traffic_metrics import TrafficMetrics
from deployments.router.peers import Peers
from deployments.router.router import Router
from deployments.router.spare_time import SpareTime
from deployments.router.stopping import stopping
from deployments.router.tables.keeper import TableKeeper
from deployments.router.tables.machine_load import MachineLoad
from deployments.router.tables.making import TableMaker
from deployments.router.warm_up import WarmUp
from deployments.worker.client import WorkerClient
from dispatch.commands import Answer
from dispatch.ensemble.ground_truth import Told
from dispatch.plan import Plan
from dispatch.query import NORMAL_PRIORITY, StageKey
from serve_app.build.gatehouse import gate_for
from serve_app.build.router_settings import RouterSettings
from serve_app.grpc.access import Access
from serve_app.grpc.health import Health
from serve_app.grpc.methods import GrpcMethods
from serve_app.grpc.service import InferenceService
from serve_app.http import fast_path
from serve_app.http.api import build_api
from serve_app.http.edge import Edge
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.http.in_front.refusals import ProxyRefusals
from serve_app.http.in_front.request_age import RequestAge, boot_id
from serve_app.http.in_front.shedding import FrontShedding
from serve_app.http.in_front.wait import FrontWait
from serve_app.http.intake import Intake
from serve_app.http.security.watch import SecretWatch
from serve_app.oip.inference import Inference
from serve_app.oip.repository import Repository
from serve_app.yielding import go_first

ROUTER = "Router"

FIRST_TABLES_S = 3.0
"""Tables are made for so long at most before the service is ready: once it is, a busy machine has little time for
them."""

MOST_QPS = 6000.0
"""No router carries more queries per second than this, whatever its workers could bear: one core spends 150
microseconds and more on a query (docs/benchmarks/serving.md)."""


class Ingress(GrpcMethods):
    """One router with its edge, on the event loop of its replica."""

    def __init__(
        self,
        plan: Plan,
        endpoints: dict[str, EndpointInfo],
        settings: RouterSettings,
        pools: dict[str, DeploymentHandle],
        controller: DeploymentHandle,
    ) -> None:
        self._gate = gate_for(settings.security)
        context = serve.get_replica_context()
        self._name = str(context.replica_id.unique_id)
        self._endpoints = endpoints
        self._settings = settings
        peers = Peers(self._name, serve.get_deployment_handle(ROUTER, context.app_name))
        clients = {pool: WorkerClient(pool, handle, self._name) for pool, handle in pools.items()}
        self._router = Router(self._name, plan, clients, peers, path_s=settings.path_s)
        self._router.warm = not settings.warm_up_s
        self._controller = ControllerClient(controller)
        ballots = {name: info.ballots for name, info in endpoints.items() if info.ballots is not None}
        self._labels = Labels(plan.endpoints, ballots, {name: info.models for name, info in endpoints.items()})
        self._router.labels = self._labels
        self._inference = Inference(self._name, self._router, endpoints, self._labels, time.monotonic)
        self._feedback = Feedback(self._router, self._labels, peers, time.monotonic)
        self._beside: list[asyncio.Task[None]] = []
        self._table_maker = TableMaker()

    async def __serve_build_asgi_app__(self) -> Any:
        """Called by Serve on the replica's event loop, before the replica counts as ready."""
        look_seldom()
        go_first()
        await self._address(self._name)
        await self._router.start()
        if self._settings.balancing:
            self._table_maker.begin()  # while workers load their variants
        watch = GuaranteeWatch(self._router, GuaranteeMetrics(), time.monotonic)
        stats = self._router.observer.meter.slowdowns
        wait = FrontWait(inf, time.monotonic)
        wait.on_plan(self._router.plan)
        link = ControlLink(self._router, self._controller, epoch_clock(), wait.on_plan, stopping)
        exchange = LearnedExchange(self._name, self._labels, self._controller)
        slowdowns = SlowdownMetrics(lambda: {w: stats.of(w) for w in self._router.workers.using})
        refusals = RefusalMetrics(lambda: self._router.observer.stats)
        shadows = ShadowMetrics(lambda: self._router.shadows.by_endpoint)
        traffic = TrafficMetrics(self._router.observer.stats, self._router.observer.batches, self._router.workers.pools)
        metrics = (slowdowns.run(), refusals.run(), shadows.run(), traffic.run())
        machine = MachineLoad(time.monotonic)
        spare = SpareTime(self._router.latency, lambda: machine.busy_share)
        beside = (self._warm_up_and_keep(machine), spare.run(), watch.run(), *metrics, link.run(), exchange.run())
        self._beside = [asyncio.create_task(work) for work in beside]
        if self._gate is not None:
            secrets = SecretWatch(self._gate, self._settings.security)
            self._beside.append(asyncio.create_task(secrets.run()))
        other = build_api(self._router, self._endpoints, self._controller, self._feedback)
        intake = Intake(
            self._settings.intake,
            RequestAge(boot_id()),
            wait,
            FrontShedding(self._endpoints, time.monotonic),
            ProxyRefusals(boot_id()),
            self._settings.token_buckets(),
            time.monotonic,
        )
        repository = Repository(self._router, self._endpoints, self._controller)
        access = Access(self._gate, self._settings.security.anonymous)
        self.grpc = InferenceService(self._inference, self._router, repository, intake, access)
        self.health = Health(self._router, repository, access)
        edge = Edge(self._inference, self._router, intake, other, self._gate)
        fast_path.install(edge)
        return edge

    async def _warm_up_and_keep(self, machine: MachineLoad) -> None:
        """Tables are made for what the warm-up measures, and not beside it."""
        keeper = TableKeeper(
            self._router,
            self._settings.balancing,
            self._table_maker,
            time.monotonic,
            highest_qps=MOST_QPS,
            busy_share=lambda: machine.busy_share,
            formulations=self._settings.formulations,
        )
        try:
            if self._settings.warm_up_s:
                inputs = {
                    StageKey(name, stage): specs
                    for name, info in self._endpoints.items()
                    for stage, specs in info.stage_inputs.items()
                }
                await WarmUp(self._router, inputs, self._settings.warm_up_s, time.monotonic).run()
                await keeper.first(FIRST_TABLES_S)
        finally:
            self._router.warm = True
        await keeper.run()

    def __del__(self) -> None:
        """Called by Serve when the replica stops."""
        for task in self._beside:
            task.cancel()
        self._table_maker.close()

    @serve.multiplexed(max_num_models_per_replica=1)
    async def _address(self, name: str) -> str:
        """Makes Serve send calls with this model id here: how `Peers` addresses one router."""
        return name

    async def status(self) -> dict[str, Any]:
        """See `Router.status`."""
        return self._router.status()

    async def infer_for_peer(
        self,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None,
        priority: int = NORMAL_PRIORITY,
        age_s: float = 0.0,
    ) -> Answer:
        """See `Router.infer_for_peer`."""
        return await self._router.infer_for_peer(endpoint, inputs, rows, slo_s, accuracy, priority, age_s)

    async def feedback_for_peer(self, endpoint: str, labels: list[Label]) -> list[Told]:
        """See `Feedback.tell_here`."""
        return await self._feedback.tell_here(endpoint, labels)


RouterDeployment = serve.deployment(
    name=ROUTER, max_ongoing_requests=10_000, health_check_period_s=2, health_check_timeout_s=10
)(serve.ingress()(Ingress))
"""The ingress as a Serve deployment; how much may wait is the dispatcher's to decide, not Serve's."""
