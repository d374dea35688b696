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

NORMAL_PRIORITY = 2
"""Of queries that ask for none: 1 is before them, larger numbers behind."""

ONLY_STAGE = ""
"""The stage of an endpoint that has one."""


class StageKey(NamedTuple):
    """A stage among those of all endpoints."""

    endpoint: str
    stage: str = ONLY_STAGE


class Query(NamedTuple):
    """One client request. Instants are seconds of the host's monotonic clock."""

    id: int
    endpoint: str
    arrival_s: float
    deadline_s: float
    rows: int = 1  # items stacked in it
    inputs: Mapping[str, Any] = NO_INPUTS  # tensor name to an array of so many rows, which nobody here looks into
    accuracy: float | None = None  # that it asks for at least, from 0 to 1, where members vote
    priority: int = NORMAL_PRIORITY  # 1 is the highest; matters only where not everybody can be let in
    length: int = 0  # of its items where inputs may be of any length, else 0

    @property
    def allowed_s(self) -> float:
        """Time from arrival to deadline."""
        return self.deadline_s - self.arrival_s


class Job(NamedTuple):
    """What waits in a queue and runs in a batch: one stage of one query, or one part of a stage.

    A job of which runs are ``excluded`` runs alone, and so does one with ``losses``: one bad query cannot take others
    down with it twice.
    """

    id: int  # unique within the query's endpoint; of two jobs with one deadline the lower runs first
    query: Query
    deadline_s: float
    rows: int  # the job's own, as `Query` has them
    inputs: Mapping[str, Any]
    stage: str = ONLY_STAGE  # of the query's endpoint
    attempt: int = 0  # launches that came to nothing
    excluded: frozenset[tuple[str, str]] = frozenset()  # worker and variant of each run of this very job that raised
    losses: int = 0  # workers that died or did not answer while they ran it
    length: int = 0  # of its items where the stage's inputs may be of any length, else 0

    @property
    def alone(self) -> bool:
        """Whether it shares no batch with others."""
        return bool(self.losses or self.excluded)


FRESH = (0, frozenset[tuple[str, str]](), 0)
"""The fields of a job that was never launched, before its length, for `quick`."""


class Batch(NamedTuple):
    """Jobs of one stage that one worker runs together on one variant."""

    id: int  # below 0 where no client waits for it (`shadow`)
    worker: str
    stage: StageKey
    variant: str
    accuracy: float  # of the variant, 0 to 1
    jobs: tuple[Job, ...]  # in the order of their deadlines
    rows: int  # of all jobs
    launched_s: float
    promise: Any = None  # the policy's of these jobs (`dispatch.selection.policy.Promise`), None where it has none
    length: int = 0  # of the longest job, to which the others are padded; 0 where inputs have fixed sizes

    @property
    def shadow(self) -> bool:
        """Whether its job was answered already, and runs again to be compared (`dispatch.shadow`)."""
        return self.id < 0

    @property
    def endpoint(self) -> str:
        """The endpoint that the stage belongs to."""
        return self.stage.endpoint
