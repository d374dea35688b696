"""The seam of selection policies, and what a policy sees."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


class QueueView(NamedTuple):
    """One worker's queue for one endpoint when a decision is due; ``rows`` is at least 1.

    ``candidates`` are the variants that the worker holds, most accurate first (of equals, the faster);
    there is at least one. ``load_qps`` is the anticipated load of the endpoint, on all its ``workers`` together;
    ``phase`` is how much of the balancer's turn has passed, seen from this worker (see `LoadBalancer.phase`);
    ``device`` is the worker's device type.
    """

    now_s: float
    rows: int
    earliest_deadline_s: float
    candidates: tuple[Candidate, ...]
    load_qps: float = 0.0
    workers: int = 1
    phase: float = 0.0
    device: str = ""

    @property
    def slack_s(self) -> float:
        """Time until the earliest deadline; negative once it has passed."""
        return self.earliest_deadline_s - self.now_s


class Choice(NamedTuple):
    """Run up to ``rows`` rows, earliest deadline first, on ``variant``."""

    variant: str
    rows: int


class Hold(NamedTuple):
    """Run nothing yet: ask again when the next job joins this queue, or at ``until_s`` (after now) if none does."""

    until_s: float


class SelectionPolicy(Protocol):
    """Decides, whenever a worker is idle and jobs wait for it.

    ``name`` is what a config calls it. `choose` must be a pure function of the view: no clock, no randomness, no
    state, so that every host decides alike. ``variant`` of the choice must be one of the view's candidates.
    """

    @property
    def name(self) -> str:
        """The policy's name in a config."""
        ...

    def choose(self, view: QueueView) -> Choice | Hold:
        """The next batch of this queue, or that it is worth waiting for more."""
        ...
