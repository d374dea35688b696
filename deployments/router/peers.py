"""The other routers, for queries that none of a router's own workers can answer."""

import asyncio
import itertools
from collections.abc import Sequence, Set
from typing import Any, cast

from ray.serve.handle import DeploymentHandle

from catalog.errors import AccordError, BadRequest, NoWorker
from catalog.tensor import Arrays
from deployments.messages.control import RoutingTable, WorkerRouting
from deployments.router.feedback.labels import Label
from deployments.router.held import stages_served
from dispatch.commands import Answer
from dispatch.ensemble.ground_truth import Told
from dispatch.plan import EndpointPlan
from dispatch.query import NORMAL_PRIORITY

STATUS_S = 2.0


class NoAnswer(NoWorker):
    """Nothing came back from the router that was asked, which may not have heard of the query at all."""

    def __init__(self, endpoint: str, peer: str, how: str) -> None:
        super().__init__(
            f"no worker of this router serves endpoint {endpoint!r}, and router {peer} that has one did not answer "
            f"{how}; try again"
        )


class Peers:
    """Wraps the handle of the router deployment; every call goes to one router by its name.

    Each router claims to have loaded a model of its own name, and Serve sends calls to who has the model that they ask
    for. (A request router of our own is refused for the deployment that HTTP comes to.)
    """

    def __init__(self, router: str, handle: DeploymentHandle) -> None:
        self._router = router
        self._handle = handle
        self._turns = itertools.count()

    def follow(self) -> None:
        """Make Serve tell this process of the other routers, so that the first query need not wait for that."""
        self._handle.options()

    def for_endpoint(
        self, endpoint: EndpointPlan, routing_table: RoutingTable | None, without: Set[str] = frozenset()
    ) -> str | None:
        """A router that has workers for the endpoint, each in its turn; None where there is no other."""
        able = [peer for peer in self.able(endpoint, routing_table) if peer not in without]
        return able[next(self._turns) % len(able)] if able else None

    def able(self, endpoint: EndpointPlan, routing_table: RoutingTable | None) -> list[str]:
        """All other routers that have workers for the endpoint, of a pipeline for each of its stages.

        Not those that leave: Serve leads nobody there.
        """
        if routing_table is None:
            return []
        others = routing_table.routers - {self._router}
        workers: dict[str, list[WorkerRouting]] = {}
        for routing in routing_table.workers.values():
            if routing.router in others:
                workers.setdefault(routing.router, []).append(routing)
        served = {router: stages_served(endpoint, own) for router, own in workers.items()}
        return sorted(router for router, stages in served.items() if endpoint.flow.answers_with(stages))

    async def statuses(self, routing_table: RoutingTable | None) -> list[dict[str, Any]]:
        """What the other routers say of themselves, those that answer in time."""
        calls = [
            self._handle.options(multiplexed_model_id=peer).status.remote() for peer in self._others(routing_table)
        ]
        answers = await asyncio.gather(*(asyncio.wait_for(call, STATUS_S) for call in calls), return_exceptions=True)
        found = {name: each for each in answers if isinstance(each, dict) for name in each["routers"]}
        return [each for name, each in found.items() if name != self._router]

    async def feedback(
        self, endpoint: str, labels: Sequence[Label], routing_table: RoutingTable | None
    ) -> list[list[Told]]:
        """What the other routers, those that answer in time, say of labels; raises `BadRequest` where one does."""
        calls = [
            self._handle.options(multiplexed_model_id=peer).feedback_for_peer.remote(endpoint, list(labels))
            for peer in self._others(routing_table)
        ]
        answers = await asyncio.gather(*(asyncio.wait_for(call, STATUS_S) for call in calls), return_exceptions=True)
        for each in answers:
            if isinstance(cause := getattr(each, "cause", None) or each, BadRequest):
                raise cause
        return [each for each in answers if isinstance(each, list)]

    def _others(self, routing_table: RoutingTable | None) -> list[str]:
        return sorted(routing_table.routers - {self._router}) if routing_table is not None else []

    async def infer(
        self,
        peer: str,
        endpoint: str,
        inputs: Arrays,
        rows: int,
        slo_s: float,
        accuracy: float | None,
        priority: int = NORMAL_PRIORITY,
        age_s: float = 0.0,
    ) -> Answer:
        """The peer's answer to a query that is ``age_s`` old; raises its `AccordError`, or `NoAnswer`."""
        # A peer of an older version does not know priorities: it is told of those only that are not the usual one.
        rest = () if priority == NORMAL_PRIORITY else (priority,)
        age = {"age_s": age_s} if age_s else {}
        remote = self._handle.options(multiplexed_model_id=peer).infer_for_peer.remote
        try:
            return cast(Answer, await remote(endpoint, inputs, rows, slo_s, accuracy, *rest, **age))
        except Exception as error:
            cause = getattr(error, "cause", None) or error  # the text of Ray's own error is a traceback
            if isinstance(cause, AccordError):
                raise cause from error
            if age and isinstance(cause, TypeError) and "age_s" in str(cause):
                # A peer of a version that does not know ages: for it the query begins when it comes.
                left_s = max(slo_s - age_s, 0.0)
                return await self.infer(peer, endpoint, inputs, rows, left_s, accuracy, priority)
            raise NoAnswer(endpoint, peer, f"({type(cause).__name__})") from error
