"""What is asked and what waits: queries, the jobs they become, and the batches that run.

They are made by the hundred thousand per second in a simulation; a NamedTuple is made in a third of the time that a
frozen dataclass takes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

quick = tuple.__new__
"""``quick(StageKey, ("digits", ""))`` is ``StageKey("digits")`` at half the cost, for what is made per query or batch.

All fields must be given, in their order.
"""

NO_INPUTS: Mapping[str, Any] = MappingProxyType({})

ONLY_STAGE = ""
"""The stage of an endpoint that has one."""


class StageKey(NamedTuple):
    """A stage among those of all endpoints."""

    endpoint: str
    stage: str = ONLY_STAGE


class Query(NamedTuple):
    """One client request. Instants are seconds of the host's monotonic clock.

    ``rows`` is the number of items stacked in it (usually 1); ``inputs`` maps tensor name to an array whose
    first axis is ``rows``, which the dispatcher carries and never looks into.
    """

    id: int
    endpoint: str
    arrival_s: float
    deadline_s: float
    rows: int = 1
    inputs: Mapping[str, Any] = NO_INPUTS

    @property
    def allowed_s(self) -> float:
        """Time from arrival to deadline."""
        return self.deadline_s - self.arrival_s


class Job(NamedTuple):
    """What waits in a queue and runs in a batch: one stage of one query, or one part of a stage.

    ``id`` is unique within the query's endpoint; of two jobs with one deadline the lower id runs first. ``inputs`` and
    ``rows`` are the job's own, as `Query` has them. ``attempt`` counts launches that came to nothing. ``excluded``
    names variants that failed on this very job; a job with any runs alone, so that one bad query cannot take others
    down with it twice.
    """

    id: int
    query: Query
    deadline_s: float
    rows: int
    inputs: Mapping[str, Any]
    stage: str = ONLY_STAGE
    attempt: int = 0
    excluded: frozenset[str] = frozenset()


class Batch(NamedTuple):
    """Jobs of one stage that one worker runs together on one variant of that ``accuracy`` (0 to 1).

    ``promise`` is what the policy promised of them (`dispatch.selection.policy.Promise`), None where nothing.
    """

    id: int
    worker: str
    stage: StageKey
    variant: str
    accuracy: float
    jobs: tuple[Job, ...]
    rows: int
    launched_s: float
    promise: Any = None

    @property
    def endpoint(self) -> str:
        """The endpoint that the stage belongs to."""
        return self.stage.endpoint
