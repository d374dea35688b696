"""The router: the live host of the dispatcher. It turns events into its calls, and its commands into I/O."""

import asyncio
import contextvars
import itertools
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from autoscaler.placement.serving import next_plan
from catalog.tensor import Arrays
from deployments.messages.control import RouterState, RoutingTable
from deployments.router import held
from deployments.router.answers import RouterAnswers
from deployments.router.batch_calls import BatchCalls
from deployments.router.early_refusals import EarlyRefusals
from deployments.router.feedback.labels import Labels
from deployments.router.forwarding import Elsewhere, Forwarding
from deployments.router.observing.endpoint_state import EndpointState
from deployments.router.observing.joint_status import together
from deployments.router.observing.loop_lag import LoopLag
from deployments.router.observing.query_observer import QueryObserver
from deployments.router.observing.status import router_status
from deployments.router.peers import Peers
from deployments.router.policy_faults import PolicyFaults
from deployments.router.tables.progress import TableProgress
from deployments.router.workers import RouterWorkers
from deployments.worker.client import WorkerClient
from dispatch.commands import Answer, Answers, BatchDone, Command, GiveUp, Launch, Reject, WakeAt
from dispatch.dispatcher import Dispatcher
from dispatch.latency.estimator import LatencyEstimator
from dispatch.plan import Plan
from dispatch.query import NORMAL_PRIORITY, Query, StageKey
from dispatch.refusals import unknown_endpoint
from dispatch.selection.policy import Candidate

LONGEST_TIMER_S = 3600.0


class Router:
    """Answers queries through one `Dispatcher`; lives on one event loop and is not thread-safe.

    ``clients`` are the pools. Workers are those that a `RoutingTable` gives to the router ``name``, and no others.
    ``peers`` answer for endpoints that none of them serves. ``path_s`` is the way to a worker and back until measured.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        clients: Mapping[str, WorkerClient],
        peers: Peers | None = None,
        clock: Callable[[], float] = time.monotonic,
        path_s: float = 0.01,
    ):
        self.name = name
        self.latency = LatencyEstimator(path_s)
        self._dispatcher = Dispatcher(plan, self.latency, PolicyFaults(clock))
        self.shadows = self._dispatcher.shadows
        self._clock = clock
        self._peers = peers
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        # Serve gives up on calls made in the context of a request when that ends, and this work is for everyone.
        self._context = contextvars.copy_context()
        self._timer: asyncio.TimerHandle | None = None
        self.workers = RouterWorkers(name, self._dispatcher, clients, clock, self._carry_out, self._spawn)
        self.workers.on_change = self._on_workers
        self.batches = BatchCalls(self._dispatcher, self.workers, clock, self._carry_out, self._spawn)
        self.on_change: Callable[[], None] = lambda: None
        """Called when workers come or go."""
        self.routing: RoutingTable | None = None
        self.tables: dict[str, TableProgress] = {}
        """How far the tables of endpoints are that have any."""
        self.lag = LoopLag()
        self.observer = QueryObserver(plan.endpoints, clock())
        self.refusals = EarlyRefusals(self._dispatcher, self.observer, self._ids, clock)
        self._answers = RouterAnswers(self.observer, self.lag)
        self._forwarding = Forwarding(peers, self._answers, clock)
        self.labels: Labels | None = None
        """What clients said was true, where there is anyone to tell."""
        self.leaving = False
        """Whether Serve is stopping this router: others are to have its workers."""
        self.warm = True
        """False while a warm-up is to come or under way: the service is not ready yet."""

    async def start(self) -> None:
        """Begin to follow the workers of every pool; returns at once, workers join as they come."""
        await self.workers.start()
        self._spawn(self.lag.run())
        if self._peers is not None:
            self._peers.follow()

    # -- queries ----------------------------------------------------------------------------------------------

    async def infer(
        self,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float | None,
        accuracy: float | None = None,
        *,
        arrival_s: float | None = None,
        priority: int = NORMAL_PRIORITY,
        forwarded: bool = False,
    ) -> Answer:
        """Answer a query, or raise the `AccordError` that says why there is no answer.

        ``inputs`` maps tensor name to an array of ``rows`` items, already validated. ``slo_s`` of None takes the
        endpoint's objective. ``accuracy`` is what an ensemble is asked for at least. The query's time counts from
        ``arrival_s``, None for now. Cancelling the call withdraws the query. One that a peer ``forwarded`` stays here.
        """
        if (plan := self._dispatcher.plan.endpoints.get(endpoint)) is None:
            raise unknown_endpoint(endpoint, self._dispatcher.plan.endpoints)
        now_s = self._clock()
        arrival_s = now_s if arrival_s is None else arrival_s
        deadline_s = arrival_s + (plan.slo_s if slo_s is None else slo_s)
        length = plan.length_of(inputs)
        query = Query(next(self._ids), endpoint, arrival_s, deadline_s, rows, inputs, accuracy, priority, length)
        away = not forwarded and not self.served(endpoint)
        if away and (peer := self._forwarding.peer(plan, self.routing)) is not None:
            return await self._forwarding.ask(peer, query, plan, self.routing)
        future = self._answers.expect(query)
        if forwarded:
            self._forwarding.keep(query)
        self._carry_out(self._dispatcher.on_arrival(query, now_s))
        try:
            return await future
        except Elsewhere as elsewhere:
            return await self._forwarding.ask(elsewhere.peer, query, plan, self.routing)
        except asyncio.CancelledError:
            if self._answers.withdraw(query):
                self._dispatcher.on_cancel(query)
                self.observer.on_cancel(query)
            raise
        finally:
            self._forwarding.forget(query)
            del future  # its exception's traceback has this frame: a cycle, which would keep the inputs for long

    def would_refuse(self, endpoint: str, arrival_s: float, slo_s: float | None) -> bool:
        """Whether a query of normal priority is refused in any case; costs next to nothing."""
        queues = self._dispatcher.queues.by_name.get(endpoint)
        if queues is None or queues.admission is None or not self.warm:
            return False
        queues.admission.delay_s, queues.admission.high_delay_s = self.lag.mean_s, self.lag.high_s
        deadline_s = arrival_s + (queues.plan.slo_s if slo_s is None else slo_s)
        return queues.admission.surely_refused(arrival_s, deadline_s, self._clock())

    def refused_by_proxy(self, endpoint: str, queries: int) -> None:
        """The proxy has refused queries that it would have sent to this router, or to others; they count as load."""
        self.refusals.by_proxy(endpoint, queries, self.routers)

    @property
    def routers(self) -> int:
        """How many there are, this one among them."""
        return 1 if self.routing is None else max(1, len(self.routing.routers))

    async def infer_for_peer(
        self,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None = None,
        priority: int = NORMAL_PRIORITY,
        age_s: float = 0.0,
    ) -> Answer:
        """Answer a query that another router has no worker for, and that came to it ``age_s`` ago.

        The answer travels without the query's inputs.
        """
        arrival_s, asked = self._clock() - age_s, (endpoint, inputs, rows, slo_s, accuracy)
        answer = await self.infer(*asked, arrival_s=arrival_s, priority=priority, forwarded=True)
        return answer._replace(query=answer.query._replace(inputs={}))

    # -- commands ---------------------------------------------------------------------------------------------

    def _carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            if isinstance(command, BatchDone):
                self.observer.on_batch(command)
            elif isinstance(command, Answers):
                self._answers.on_answers(command, self._objective_s(command.done.batch.endpoint))
            elif isinstance(command, Answer):
                self._answers.on_answer(command, self._objective_s(command.query.endpoint))
            elif isinstance(command, Launch):
                self.batches.launch(command.batch)
            elif isinstance(command, Reject):
                self._answers.on_reject(command, self._objective_s(command.query.endpoint))
            elif isinstance(command, GiveUp):
                self.batches.give_up(command)
            elif isinstance(command, WakeAt):
                if self._timer is not None:
                    self._timer.cancel()
                delay_s = min(max(0.0, command.at_s - self._clock()), LONGEST_TIMER_S)
                self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _objective_s(self, endpoint: str) -> float:
        """What guarantees are about, whatever deadline clients ask for; nothing counts once an endpoint is gone."""
        return math.inf if (plan := self.plan.endpoints.get(endpoint)) is None else plan.slo_s

    def _on_timer(self) -> None:
        self._timer = None
        self._carry_out(self._dispatcher.on_timer(self._clock()))

    # -- plans and workers ------------------------------------------------------------------------------------

    def follow(self, routing_table: RoutingTable) -> None:
        """Put the controller's newest word in force, between two batches; an older one than that in force is ignored.

        Plan and what workers serve change at one instant; workers that come or go do so as soon as they can.
        """
        if routing_table.version <= self.following:
            return
        before = {} if self.routing is None else self.routing.endpoints
        plan = next_plan(self.plan, routing_table.endpoints, before, self.workers.predicted(routing_table.workers))
        self.routing = routing_table
        self.observer.meter.follow(routing_table)
        serves = self.workers.follow(routing_table.workers)
        self.workers.expect(plan, routing_table.workers, routing_table.routers)
        self._carry_out(self._dispatcher.apply(plan, self._clock(), serves))
        self.workers.settle()
        self._forwarding.send_on(self._dispatcher, routing_table)

    def _on_workers(self) -> None:
        self._forwarding.send_on(self._dispatcher, self.routing)
        self.on_change()

    @property
    def following(self) -> int:
        """Version of the routing table in force, 0 before the first."""
        return 0 if self.routing is None else self.routing.version

    def router_state(self) -> RouterState:
        """What the controller has to know."""
        return RouterState(self.name, self.following, self.workers.using, self.leaving)

    # -- state ------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._dispatcher.plan

    def apply(self, plan: Plan) -> None:
        """Put a newer plan in force, with the same endpoints."""
        self._carry_out(self._dispatcher.apply(plan, self._clock()))

    def workers_of(self, endpoint: str) -> int:
        """How many live workers serve the endpoint."""
        return held.workers_of(self._dispatcher.workers, endpoint)

    def served(self, endpoint: str) -> bool:
        """Whether live workers here hold what the endpoint needs: of a pipeline something for each stage."""
        return self._dispatcher.queues.served(endpoint)

    def offered(self, endpoint: str) -> dict[str, tuple[Candidate, ...]]:
        """By device type what the plan offers for the endpoint on the workers that are there."""
        return held.offered(self._dispatcher.workers, endpoint)

    def held(self, worker: str) -> list[tuple[StageKey, tuple[Candidate, ...], float]]:
        """See `deployments.router.held.held`."""
        return held.held(self._dispatcher.workers.get(worker))

    def anticipated_qps(self, endpoint: str) -> float:
        """The load that the endpoint has to reckon with."""
        return self.plan.endpoints[endpoint].load_qps(self._clock())

    def state(self, endpoint: str, now_s: float) -> EndpointState:
        """An endpoint as it is now."""
        feedback = self._dispatcher.queues.feedback(endpoint)
        guarantee, waiting = self.observer.guarantees[endpoint].guarantee(now_s), self._dispatcher.queues.rows(endpoint)
        share = 1.0 if feedback is None else feedback.share
        return EndpointState(guarantee, self.anticipated_qps(endpoint), share, self._objective_s(endpoint), waiting)

    def ready(self, endpoint: str) -> bool:
        """Whether live workers hold what the endpoint needs, here or at a peer, and the warm-up is over."""
        able = self._forwarding.able
        return self.warm and (self.served(endpoint) or able(self.plan.endpoints[endpoint], self.routing))

    def status(self) -> dict[str, Any]:
        """Endpoints and workers as they are now, for ``GET /accord/status``."""
        plan_version = 0 if self.routing is None else self.routing.plan_version
        ready = {endpoint: self.ready(endpoint) for endpoint in self.plan.endpoints}
        known = (self._dispatcher, self.observer, self.tables, ready, self.labels)
        return router_status(self.name, plan_version, *known, self.workers.reports, self.workers.events, self._clock())

    async def status_of_all(self) -> dict[str, Any]:
        """The same of all routers together, as far as they answer."""
        others = [] if self._peers is None else await self._peers.statuses(self.routing)
        return together([self.status(), *others]) if others else self.status()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
