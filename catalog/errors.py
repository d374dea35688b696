"""Every error that Accord shows to a person or a client.

A message says what is wrong, quotes the offending value, and says what to do next. ``status`` is the
HTTP status of the answer that a client gets; ``retryable`` says whether the same query may do better later.
"""


class AccordError(Exception):
    """Root of the tree. Raise a subclass; a bare one reaches the client as 500."""

    status = 500
    retryable = False
    code = ""
    """Why a query was not served, for machines: the header ``x-accord-reason``."""
    retry_after_s: float | None = None
    """When the same query may do better, as far as that is known."""


class ConfigError(AccordError):
    """A config, catalogue or profile file is wrong. Raised while starting, never while serving."""


class ArtifactError(AccordError):
    """A model file is missing, unreadable or not the one whose checksum the catalogue names."""


class BadSeries(AccordError):
    """A load history cannot be used: empty, too short, with values that are no loads, or times that do not ascend."""


class NotFitted(AccordError):
    """A forecaster was asked before it had learned anything."""


class BadRequest(AccordError):
    """The query itself is wrong: malformed JSON, tensor name, datatype, shape or value."""

    status = 400


class ConstraintUnmet(BadRequest):
    """No members of an ensemble reach the accuracy that a query asks for within its latency."""


class NameInUse(BadRequest):
    """Workers still hold an unregistered variant of that name, which they let go of with the next plan."""


class Unauthenticated(AccordError):
    """The caller did not say who they are, or not so that it can be believed."""

    status = 401


class Forbidden(AccordError):
    """The caller is known, and may not do this; or what they name may not be used."""

    status = 403


class UnknownEndpoint(AccordError):
    """No endpoint of that name is served here."""

    status = 404


class UnknownVersion(UnknownEndpoint):
    """The endpoint has no such version."""


class MethodNotAllowed(AccordError):
    """The path is that of inference, which takes POST alone."""

    status = 405


class TooLarge(AccordError):
    """The body is larger than the limit of this server."""

    status = 413


class Saturated(AccordError):
    """The endpoint's queue is full; capacity exists, so a later try may succeed."""

    status = 429
    retryable = True
    code = "rejected-saturated"


class Infeasible(AccordError):
    """Too much waits already, or the deadline is too short: even the fastest variant would be late."""

    status = 429
    retryable = True
    code = "rejected-slo-infeasible"


class TooShort(Infeasible):
    """The client asks for less time than the objective, and even the fastest variant takes longer."""


class Displaced(AccordError):
    """The query waited, and one of higher priority took its place."""

    status = 429
    retryable = True
    code = "evicted-priority"


class RateLimited(AccordError):
    """The client sends more queries than it may."""

    status = 429
    retryable = True
    code = "rejected-rate-limited"


class TooSlow(AccordError):
    """The body of a request did not arrive in time."""

    status = 408
    retryable = True


class Interrupted(AccordError):
    """A request could not be read to its end, since what stands between the client and the router gave it up."""

    status = 503
    retryable = True


class VariantFailed(AccordError):
    """Every variant that was tried raised on this query; the message carries the last reason."""

    status = 503
    retryable = True


class AdapterFailed(AccordError):
    """A pipeline's adapter or condition raised on this query, or gave something other than it declares."""


class NothingToAnswer(AccordError):
    """All stages that a pipeline's answer is made of, or one that it cannot do without, were skipped for this query."""

    status = 422


WORKER_COMES_S = 2.0
"""No worker is replaced sooner."""


class NoWorker(AccordError):
    """No live worker holds a variant of the endpoint's task."""

    status = 503
    retryable = True
    code = "rejected-no-endpoints"
    retry_after_s = WORKER_COMES_S


class NoController(AccordError):
    """The controller gave no answer: it is starting, starting anew, or what it was asked went wrong there."""

    status = 503
    retryable = True


class PlannerFailed(AccordError):
    """The planner's process died over a plan, again and again; the plan before stays in force."""

    status = 503
    retryable = True


class TrainingFailed(AccordError):
    """A forecaster's training died or took too long; what forecast before goes on."""


class DeadlineMissed(AccordError):
    """The deadline passed in the queue of an endpoint with ``drop_late: true``, or its policy gave the query up."""

    status = 504
    retryable = True
    code = "rejected-ttl-expired"


class StateRefused(ConfigError):
    """The controller's saved state is of a version that this Accord does not know."""

    code = "state-refused"


class StateUnavailable(ConfigError):
    """The controller's saved state cannot be used just now: a full disk, a folder without rights, no network."""

    code = "state-unavailable"


class WorkerLost(NoWorker):
    """The worker died, was cut off or hung under the query, and there was no time, or too little left, for another."""

    code = "evicted-worker-lost"


class PoisonQuery(AccordError):
    """Two workers died while they ran the query, the second time nothing else: it is not tried on a third."""

    status = 422
    code = "rejected-poison"
