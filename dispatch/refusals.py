"""Why a query gets no result, in words for the client."""

from collections.abc import Iterable

from catalog.errors import DeadlineMissed, NoWorker, Saturated, UnknownEndpoint, VariantFailed
from dispatch.plan import EndpointPlan
from dispatch.query import Batch, Query


def unknown_endpoint(name: str, known: Iterable[str]) -> UnknownEndpoint:
    """Nothing of that name is served."""
    return UnknownEndpoint(f"no endpoint {name!r}; endpoints here: {', '.join(known) or 'none'}")


def removed_endpoint(query: Query) -> UnknownEndpoint:
    """A newer plan dropped the endpoint while the query waited."""
    return UnknownEndpoint(f"endpoint {query.endpoint!r} was removed while the query waited")


def saturated(endpoint: EndpointPlan, queued: int) -> Saturated:
    """The queue is full."""
    return Saturated(
        f"endpoint {endpoint.name!r} has {queued} rows waiting and holds {endpoint.limits.max_queued_rows} at most; "
        "try again later or raise its max_queued_rows"
    )


def no_worker(endpoint: EndpointPlan) -> NoWorker:
    """The query waited for a worker until its deadline."""
    return NoWorker(f"no worker that holds a variant for endpoint {endpoint.name!r} came before the deadline")


def worker_lost(worker: str) -> NoWorker:
    """The worker died under the query, for the last time that is tried."""
    return NoWorker(f"worker {worker} was lost while it ran the query's batch")


def variant_failed(batch: Batch, reason: str) -> VariantFailed:
    """A variant raised on the query's batch."""
    return VariantFailed(f"variant {batch.variant!r} failed on worker {batch.worker}: {reason}")


def deadline_out_of_reach(query: Query, now_s: float) -> DeadlineMissed:
    """The endpoint's policy gave the query up: it could not be met, or only at the cost of more queries behind it."""
    return DeadlineMissed(
        f"the deadline, {(query.deadline_s - now_s) * 1e3:.1f} ms away, could not be met any more after "
        f"{(now_s - query.arrival_s) * 1e3:.1f} ms in the queue"
    )


def deadline_missed(query: Query, now_s: float) -> DeadlineMissed:
    """The query was due before a worker was free, and its endpoint drops late queries."""
    return DeadlineMissed(f"the deadline passed after {(now_s - query.arrival_s) * 1e3:.1f} ms in the queue")
