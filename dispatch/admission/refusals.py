"""Why a query is not let in, or not kept, in words for the client."""

from catalog.errors import DeadlineMissed, Displaced, Infeasible, NoWorker, TooShort
from dispatch.plan import EndpointPlan
from dispatch.query import Query


def expired(query: Query, now_s: float) -> DeadlineMissed:
    """It was too old when it came."""
    return DeadlineMissed(
        f"the query was {(now_s - query.arrival_s) * 1e3:.1f} ms old when it could be looked at, and had "
        f"{query.allowed_s * 1e3:.1f} ms"
    )


def infeasible(endpoint: EndpointPlan, query: Query, end_s: float, now_s: float) -> Infeasible:
    """Too much is before it."""
    wait_s = max(end_s - now_s, 0.0)
    error = Infeasible(
        f"endpoint {endpoint.name!r} is overloaded: an answer would take {wait_s * 1e3:.1f} ms, and the query has "
        f"{(query.deadline_s - now_s) * 1e3:.1f} ms; try again later"
    )
    error.retry_after_s = wait_s
    return error


def too_short(endpoint: EndpointPlan, query: Query, least_s: float, now_s: float) -> Infeasible:
    """No variant is so fast; where the client allows less than that at all, it is its own wish."""
    kind = TooShort if query.allowed_s < least_s else Infeasible
    return kind(
        f"endpoint {endpoint.name!r} has no variant that answers within {(query.deadline_s - now_s) * 1e3:.1f} ms; the "
        f"fastest takes {least_s * 1e3:.1f} ms"
    )


def nobody_home(endpoint: EndpointPlan) -> NoWorker:
    """There is nobody who could answer in time."""
    return NoWorker(f"no worker holds a variant for endpoint {endpoint.name!r} just now")


def making_room(endpoint: EndpointPlan) -> Displaced:
    """A query of higher priority could not have been met otherwise."""
    return Displaced(
        f"endpoint {endpoint.name!r} is overloaded, and a query of higher priority took this one's place; try again "
        "later"
    )
