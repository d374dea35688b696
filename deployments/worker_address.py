"""Addresses one worker replica: the request router of worker deployments.

Ray Serve offers a request router per calling process (``request_router_config``). This one sends a call to
the replica whose unique id the call carries as its multiplexed model id, and to any replica where it
carries none. An id that is not alive gets no candidate; the caller cancels the call when it learns of the
loss from `deployments.membership`.
"""

from ray.serve.request_router import PendingRequest, ReplicaID, ReplicaResult, RequestRouter, RunningReplica

from deployments import membership


class WorkerAddressRouter(RequestRouter):
    """Routes by replica id instead of by queue length."""

    def initialize_state(self) -> None:
        """Called by Serve with the configured keyword arguments, of which there are none."""
        self._by_id: dict[str, RunningReplica] = {}

    def update_replicas(self, replicas: list[RunningReplica]) -> None:
        """Serve reports who is alive."""
        super().update_replicas(replicas)
        self._publish(list(replicas))

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
        """The one replica that is asked for, or all of them."""
        wanted = pending_request.metadata.multiplexed_model_id if pending_request is not None else ""
        if not wanted:
            return [candidate_replicas]
        replica = self._by_id.get(wanted)
        return [[replica]] if replica is not None else []

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: ReplicaResult) -> None:
        """Nothing is learned from a call that was sent."""
