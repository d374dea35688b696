"""The deadline that a client sets on its call, as metadata.

Serve 2.60 hands methods a copy of the call's context (`RayServegRPCContext`), which has metadata and no deadline. The
copy is made where the call is received, in the router or in a proxy, from a context that does know the time left.
"""

from functools import wraps
from typing import Any

from ray.serve.grpc_util import RayServegRPCContext

from catalog.errors import AccordError, DeadlineMissed
from serve_app.http.intake import Head

REMAINING = "x-accord-call-remaining-us"
"""Metadata of a context: microseconds that were left of a call when it was received."""

SHORTEST_S = 1e-6
WAY_BACK_S = 1e-3
"""An answer is on its way for so long at least; timers of gRPC go by as much."""

MOST_DIGITS = 18


def keep_call_deadlines() -> None:
    """Have contexts that this process makes from now on tell the time that their calls have left."""
    made = RayServegRPCContext.__init__
    if getattr(made, "tells_remaining", False):
        return

    @wraps(made)
    def telling(self: RayServegRPCContext, grpc_context: Any) -> None:
        made(self, grpc_context)
        remaining_s = grpc_context.time_remaining()
        if remaining_s is not None:
            self.invocation_metadata().append((REMAINING, str(round(remaining_s * 1e6))))

    telling.tells_remaining = True  # type: ignore[attr-defined]
    RayServegRPCContext.__init__ = telling


def remaining_s(context: RayServegRPCContext) -> float | None:
    """What a call had left when it was received, in seconds, above 0; None where its client sets no deadline.

    A client that sends the metadata itself sets a deadline by it; the shortest counts.
    """
    told = [value for key, value in context.invocation_metadata() if key == REMAINING]
    found = [int(v) * 1e-6 for v in told if v.isdecimal() and v.isascii() and len(v) <= MOST_DIGITS]
    return max(SHORTEST_S, min(found)) if found else None


def within_call(head: Head, asked_s: float | None, objective_s: float, left_s: float | None) -> Head:
    """The head of a query with what its call has left, where that is less than it would have.

    That is the shortest of what head and request (``asked_s``) ask for, else the endpoint's objective. A call only
    shortens it: clients give calls many seconds so as not to hang, not to be served late.
    """
    own_s = min((each for each in (head.slo_s, asked_s) if each is not None), default=objective_s)
    return head if left_s is None or left_s >= own_s else head._replace(slo_s=left_s)


def out_of_time(error: Exception, left_s: float | None, spent_s: float) -> Exception:
    """What a call is told that fails with this error after so many seconds.

    Once its own deadline has passed, or will have by the time that it hears of anything, that is the deadline, as its
    client's timer has it, and no overload of the service.
    """
    if left_s is None or left_s - spent_s > WAY_BACK_S or not isinstance(error, AccordError) or not error.retryable:
        return error
    if error.status in (408, 504):
        return error
    return DeadlineMissed(f"the call had {left_s * 1e3:.3f} ms left when it came: {error}")
