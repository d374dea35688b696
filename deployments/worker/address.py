"""Addresses one worker replica: the request router of worker deployments.

Ray Serve offers a request router per calling process (``request_router_config``). This one sends a call to
the replica whose unique id the call carries as its multiplexed model id, and to any replica where it
carries none. A call for a replica that is gone goes to any other, which refuses it: Serve's routing task would
spin without a pause on an empty list of candidates, and hold up every other call.
"""

from collections.abc import Iterable

from ray.serve.request_router import PendingRequest, ReplicaID, ReplicaResult, RequestRouter, RunningReplica

from deployments.worker import membership


class WorkerAddressRouter(RequestRouter):
    """Routes by replica id instead of by queue length."""

    def initialize_state(self) -> None:
        """Called by Serve with the configured keyword arguments, of which there are none."""
        self._by_id: dict[str, RunningReplica] = {}

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Serve reports who is alive."""
        super().update_replicas(replicas)
        self._publish(list(replicas))
        self._forget_sent(tuple(self._pending_requests_by_model_id))

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        """A call failed because its replica is dead."""
        super().on_replica_actor_died(replica_id)
        self._publish([replica for replica in self._by_id.values() if replica.replica_id != replica_id])

    def _publish(self, replicas: list[RunningReplica]) -> None:
        self._by_id = {replica.replica_id.unique_id: replica for replica in replicas}
        membership.update(self._deployment_id.name, frozenset(self._by_id))

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """The one replica that is asked for; all of them where none is, or it is gone."""
        if pending_request is None:
            return [candidate_replicas]
        pending_request.routing_context.should_backoff = True  # else Serve tries again without a pause
        model_id = pending_request.metadata.multiplexed_model_id
        self._forget_sent((model_id,))
        replica = self._by_id.get(model_id)
        return [candidate_replicas] if replica is None else [[replica]]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: ReplicaResult) -> None:
        """Nothing is learned from a call that was sent."""

    def _forget_sent(self, model_ids: Iterable[str]) -> None:
        """Serve keeps calls by their model ids, and takes out what it has sent only in routers that choose replicas by
        loaded models: here each call would stay for good, with 3 KB of memory."""
        for model_id in model_ids:
            calls = self._pending_requests_by_model_id.get(model_id)
            while calls and calls[0].future.done():
                calls.popleft()
            if not calls:
                self._pending_requests_by_model_id.pop(model_id, None)
