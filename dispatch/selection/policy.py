"""The seam of selection policies, and what a policy sees."""

from dataclasses import dataclass
from typing import Protocol

from catalog.profile import LatencyProfile
from catalog.variant import Variant


@dataclass(frozen=True)
class Candidate:
    """A variant as selection sees it: its accuracy, and the time that a batch needs on this worker.

    ``latency_s[n]`` is the profiled p95 of a batch of n rows plus the transport to the worker and back,
    for n from 0 (unused) to the variant's largest batch; it never decreases.
    """

    variant: str
    accuracy: float
    latency_s: tuple[float, ...]

    @classmethod
    def of(cls, variant: Variant, profile: LatencyProfile, transport_s: float) -> "Candidate":
        """Tabulate a profile up to the variant's largest batch."""
        per_batch = (profile.p95_s(rows) + transport_s for rows in range(1, variant.max_batch + 1))
        return cls(variant.name, variant.accuracy, (0.0, *per_batch))

    @property
    def max_batch(self) -> int:
        """Largest number of rows in one batch."""
        return len(self.latency_s) - 1

    def batch_rows(self, rows: int) -> int:
        """How many of ``rows`` waiting rows one batch can hold."""
        return min(rows, self.max_batch)


@dataclass(frozen=True, slots=True)
class QueueView:
    """One worker's queue for one endpoint when a decision is due; ``rows`` is at least 1.

    ``candidates`` are the variants that the worker holds, most accurate first (of equals, the faster);
    there is at least one.
    """

    now_s: float
    rows: int
    earliest_deadline_s: float
    candidates: tuple[Candidate, ...]

    @property
    def slack_s(self) -> float:
        """Time until the earliest deadline; negative once it has passed."""
        return self.earliest_deadline_s - self.now_s


@dataclass(frozen=True, slots=True)
class Choice:
    """Run up to ``rows`` rows, earliest deadline first, on ``variant``."""

    variant: str
    rows: int


class SelectionPolicy(Protocol):
    """Decides, whenever a worker is idle and jobs wait for it.

    ``name`` is what a config calls it. `choose` must be a pure function of the view: no clock, no randomness, no
    state, so that every host decides alike. ``variant`` of the choice must be one of the view's candidates.
    """

    @property
    def name(self) -> str:
        """The policy's name in a config."""
        ...

    def choose(self, view: QueueView) -> Choice:
        """The next batch of this queue."""
        ...
