"""What the dispatcher asks of its host. The host carries commands out in the order given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.errors import AccordError
from dispatch.query import Batch, Query


@dataclass(frozen=True, slots=True)
class Launch:
    """Run ``batch`` with one call to its worker; report by ``on_done`` or ``on_failed``."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Call ``on_timer`` at ``at_s``; a new one replaces the one before, and is never later than it."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """``query`` was served by ``variant``; ``outputs`` holds its own rows only.

    ``run_s`` is the latency that the worker measured for the whole batch.
    """

    query: Query
    variant: str
    accuracy: float
    outputs: Mapping[str, Any]
    batch_rows: int
    launched_s: float
    done_s: float
    run_s: float

    @property
    def deadline_met(self) -> bool:
        """Whether the result was there by the query's deadline."""
        return self.done_s <= self.query.deadline_s

    @property
    def queue_s(self) -> float:
        """How long the query waited before its batch was launched."""
        return self.launched_s - self.query.arrival_s

    @property
    def latency_s(self) -> float:
        """From the query's arrival to its result."""
        return self.done_s - self.query.arrival_s


@dataclass(frozen=True, slots=True)
class Reject:
    """``query`` gets no result; ``error`` says why."""

    query: Query
    error: AccordError


Command = Launch | WakeAt | Answer | Reject
