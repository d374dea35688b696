"""Why a query gets no result, in words for the client."""

from collections.abc import Iterable

from catalog.errors import (
    AccordError,
    AdapterFailed,
    BadRequest,
    ConstraintUnmet,
    DeadlineMissed,
    NoWorker,
    PoisonQuery,
    Saturated,
    UnknownEndpoint,
    VariantFailed,
    WorkerLost,
)
from catalog.user_code.raised import text_of
from dispatch.plan import EndpointPlan
from dispatch.query import Batch, Query

LONGEST = 300
"""Characters of somebody else's message that are passed on."""


def unknown_endpoint(name: str, known: Iterable[str]) -> UnknownEndpoint:
    """Nothing of that name is served."""
    return UnknownEndpoint(f"no endpoint {name!r}; endpoints here: {', '.join(known) or 'none'}")


def removed_endpoint(query: Query) -> UnknownEndpoint:
    """A newer plan dropped the endpoint while the query waited."""
    return UnknownEndpoint(f"endpoint {query.endpoint!r} was removed while the query waited")


def no_room(endpoint: EndpointPlan, queued: int, rows: int) -> AccordError:
    """The queue is full, or never holds a query of so many ``rows``, of all its jobs: then no later try helps."""
    if rows > endpoint.limits.max_queued_rows:
        return BadRequest(
            f"the query brings {rows} rows (of an ensemble, one for each item and member), and endpoint "
            f"{endpoint.name!r} holds {endpoint.limits.max_queued_rows} at most; split it into several requests, or "
            "raise its max_queued_rows"
        )
    return Saturated(
        f"endpoint {endpoint.name!r} has {queued} rows waiting and holds {endpoint.limits.max_queued_rows} at most; "
        "try again later or raise its max_queued_rows"
    )


def constraint_unmet(error: ConstraintUnmet, query: Query, latency_share: float) -> ConstraintUnmet:
    """No members of an ensemble can do what the query asks: they run for that share of its time at most."""
    return ConstraintUnmet(
        f"{error}. Members may run for {latency_share:.0%} of a query's time, and this one has "
        f"{query.allowed_s * 1e3:.4g} ms"
    )


def no_worker(endpoint: EndpointPlan) -> NoWorker:
    """The query waited for a worker until its deadline."""
    return NoWorker(f"no worker that holds a variant for endpoint {endpoint.name!r} came before the deadline")


def worker_lost(batch: Batch, happened: str, why: str) -> WorkerLost:
    """The worker died, was cut off or hung under the query, which is not launched again."""
    return WorkerLost(f"worker {batch.worker} {happened} while it ran the query's batch, and {why}; try again")


def poison(batch: Batch, deaths: int) -> PoisonQuery:
    """Workers die of the query."""
    return PoisonQuery(
        f"{deaths} workers died while they ran this query, worker {batch.worker} while it ran nothing else (variant "
        f"{batch.variant!r}); it is not run again: send it anew only when it is known what kills them"
    )


def variant_failed(batch: Batch, reason: str) -> VariantFailed:
    """A variant raised on the query's batch."""
    return VariantFailed(f"variant {batch.variant!r} failed on worker {batch.worker}: {reason}")


def deadline_out_of_reach(query: Query, now_s: float) -> DeadlineMissed:
    """The endpoint's policy gave the query up: it could not be met, or only at the cost of more queries behind it."""
    return DeadlineMissed(
        f"the deadline, {(query.deadline_s - now_s) * 1e3:.1f} ms away, could not be met any more after "
        f"{(now_s - query.arrival_s) * 1e3:.1f} ms in the queue"
    )


def late_between_stages(query: Query, stage: str, now_s: float) -> DeadlineMissed:
    """Stages are left, and the query's endpoint drops late queries."""
    return _evicted(
        f"the deadline passed before all stages had run: stage {stage!r} was done "
        f"{(now_s - query.arrival_s) * 1e3:.1f} ms after the query came, which had {query.allowed_s * 1e3:.1f} ms"
    )


def given_up(query: Query, now_s: float) -> DeadlineMissed:
    """The query took so long that serving it further would only burden others (IPA, section 4.5)."""
    return _evicted(
        f"no answer after {(now_s - query.arrival_s) * 1e3:.1f} ms, and the query had {query.allowed_s * 1e3:.1f} ms; "
        "it was given up"
    )


def _evicted(text: str) -> DeadlineMissed:
    error = DeadlineMissed(text)
    error.code = "evicted-deadline"
    return error


def not_joined(stage: str, error: Exception) -> VariantFailed:
    """What the jobs of a stage gave for one query does not fit together."""
    return VariantFailed(f"stage {stage!r}: the results of its jobs do not fit together: {in_one_line(error)}")


def adapter_failed(where: str, error: BaseException) -> AdapterFailed:
    """A function between stages raised."""
    return AdapterFailed(f"{where} raised {in_one_line(error)}")


def in_one_line(error: BaseException) -> str:
    """An exception's type and message, without line breaks."""
    words = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {words[:LONGEST]}" if words else type(error).__name__


def deadline_missed(query: Query, now_s: float) -> DeadlineMissed:
    """The query was due before a worker was free, and its endpoint drops late queries."""
    return DeadlineMissed(f"the deadline passed after {(now_s - query.arrival_s) * 1e3:.1f} ms in the queue")
