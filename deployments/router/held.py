"""What the workers of a dispatcher hold, and those of a routing table, as endpoints see it."""

from collections.abc import Iterable, Mapping

from deployments.messages.control import WorkerRouting
from dispatch.plan import EndpointPlan
from dispatch.query import StageKey
from dispatch.queues.worker_state import WorkerState
from dispatch.selection.policy import Candidate

States = Mapping[str, WorkerState]


def stages_served(endpoint: EndpointPlan, workers: Iterable[WorkerRouting]) -> set[str]:
    """The stages of the endpoint that workers of a routing table serve.

    A worker that serves a variant of the endpoint for another one only serves none.
    """
    return {
        name
        for routing in workers
        for name, stage in endpoint.stages.items()
        if any(routing.serves.issuperset(candidate.needs) for candidate in stage.offered(routing.info))
    }


def workers_of(states: States, endpoint: str) -> int:
    """How many workers serve the endpoint, or some stage of it."""
    return sum(any(key.endpoint == endpoint for key in state.lanes) for state in states.values())


def offered(states: States, endpoint: str) -> dict[str, tuple[Candidate, ...]]:
    """By device type what the plan offers for the endpoint on the workers that are there."""
    found: dict[str, dict[str, Candidate]] = {}
    for state in states.values():
        for lane in (lane for key, lane in state.lanes.items() if key.endpoint == endpoint):
            found.setdefault(state.info.device, {}).update((each.variant, each) for each in lane.offered)
    return {device: tuple(own.values()) for device, own in found.items()}


def held(state: WorkerState | None) -> list[tuple[StageKey, tuple[Candidate, ...], float]]:
    """The stages that a worker serves, with what the plan offers for each there, and its objective in seconds."""
    lanes = {} if state is None else state.lanes
    return [(key, lane.offered, lane.stage.slo_s) for key, lane in lanes.items()]
