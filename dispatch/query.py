"""What is asked and what waits: queries, the jobs they become, and the batches that run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Query:
    """One client request. Instants are seconds of the host's monotonic clock.

    ``rows`` is the number of items stacked in it (usually 1); ``inputs`` maps tensor name to an array whose
    first axis is ``rows``, which the dispatcher carries and never looks into.
    """

    id: int
    endpoint: str
    arrival_s: float
    deadline_s: float
    rows: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Job:
    """What waits in a queue and runs in a batch. ``attempt`` counts launches that came to nothing.

    ``excluded`` names variants that failed on this very job; a job with any runs alone, so that one bad
    query cannot take others down with it twice.
    """

    query: Query
    attempt: int = 0
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs of one endpoint that one worker runs together on one variant."""

    id: int
    worker: str
    endpoint: str
    variant: str
    jobs: tuple[Job, ...]
    rows: int
    launched_s: float
