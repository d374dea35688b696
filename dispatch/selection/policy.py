"""The seam of selection policies, and what a policy sees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple, Protocol, runtime_checkable

from catalog.profiles.profile import LatencyProfile
from catalog.variant import Variant
from dispatch.latency.lead import AT_ONCE


@dataclass(frozen=True)
class Candidate:
    """A variant as selection sees it: its accuracy, and the time from the launch of a batch on this worker to its
    result.

    ``latency_s[n]`` is what a batch of n rows takes in nearly all cases, for n from 0 (unused) to the variant's largest
    batch: what must fit into the slack. ``mean_s[n]`` is how long the worker is busy with it on average, until the next
    batch may follow; empty where latency does not vary. ``result_s[n]`` is when its result is there on average; empty
    where that is when the next batch may follow. None of them ever decreases with n. ``path_s`` is the way to the
    worker and back beside the run, which a plan's candidates have in both. ``follow_s[n]`` is when, after its launch,
    the next batch may be launched though the result is not there, infinite where that is to be waited for; empty where
    it always is.

    ``members`` are several variants that the worker runs one after the other on the same batch, as one choice under the
    candidate's name; empty where it is the variant of that name.
    """

    variant: str
    accuracy: float
    latency_s: tuple[float, ...]
    mean_s: tuple[float, ...] = ()
    path_s: float = 0.0
    members: tuple[str, ...] = ()
    follow_s: tuple[float, ...] = ()
    result_s: tuple[float, ...] = ()

    @classmethod
    def of(cls, variant: Variant, profile: LatencyProfile, transport_s: float) -> "Candidate":
        """A profile's 95th percentile and mean up to the variant's largest batch, plus ``transport_s``."""
        sizes = range(1, variant.max_batch + 1)
        tail_s = (profile.p95_s(rows) + transport_s for rows in sizes)
        mean_s = (min(profile.mean_s(rows), profile.p95_s(rows)) + transport_s for rows in sizes)
        return cls(variant.name, variant.accuracy, (0.0, *tail_s), (0.0, *mean_s), transport_s)

    @property
    def needs(self) -> tuple[str, ...]:
        """The variants that a worker must hold for it."""
        return self.members or (self.variant,)

    @property
    def busy_s(self) -> tuple[float, ...]:
        """``mean_s``, or ``latency_s`` where latency does not vary."""
        return self.mean_s or self.latency_s

    @property
    def done_s(self) -> tuple[float, ...]:
        """``result_s``, or ``busy_s`` where the next batch waits for the result."""
        return self.result_s or self.busy_s

    @cached_property
    def cycle_s(self) -> tuple[float, ...]:
        """How long after the launch of n rows the next batch is launched on a worker that is never out of work, on
        average."""
        if not self.follow_s:
            return self.latency_s
        both = zip(self.follow_s, self.latency_s, strict=True)
        return tuple(min(max(follow_s, latency_s / AT_ONCE), latency_s) for follow_s, latency_s in both)

    @cached_property
    def runs_s(self) -> tuple[float, ...]:
        """Mean run of n rows of a plan's candidate, without the way."""
        return (0.0, *(busy_s - self.path_s for busy_s in self.busy_s[1:]))

    @property
    def max_batch(self) -> int:
        """Largest number of rows in one batch."""
        return len(self.latency_s) - 1

    def batch_rows(self, rows: int) -> int:
        """How many of ``rows`` waiting rows one batch can hold."""
        return min(rows, self.max_batch)

    def time_s(self, times_s: tuple[float, ...], rows: int) -> float:
        """What ``rows`` rows take by ``times_s``, which are the candidate's, by rows.

        A single query may have more of them than its batches are to hold: a plan may cut these, and it is never
        divided. It is taken to need so many batches one after the other: it takes no longer than that.
        """
        if rows <= self.max_batch:
            return times_s[rows]
        full, rest = divmod(rows, self.max_batch)
        return full * times_s[-1] + (times_s[rest] if rest else 0.0)

    def of_queries(self, rows: int) -> "Candidate":
        """The candidate by queries that have so many rows each: ``latency_s[n]`` is that of n queries.

        One that has more rows than a batch holds is taken to have those.
        """
        if rows <= 1:
            return self
        sizes = [min(queries * rows, self.max_batch) for queries in range(max(self.max_batch // rows, 1) + 1)]

        def picked(times_s: tuple[float, ...]) -> tuple[float, ...]:
            return times_s and tuple(times_s[size] for size in sizes)

        return self._timed(picked)

    def of_whole_jobs(self, rows: int) -> "Candidate":
        """The candidate where every job has so many rows, or as many as a batch holds: fewer take no less than one."""
        if rows <= 1:
            return self
        first = self.batch_rows(rows)

        def at_least(times_s: tuple[float, ...]) -> tuple[float, ...]:
            return times_s and (times_s[0], *[times_s[first]] * first, *times_s[first + 1 :])

        return self._timed(at_least)

    def _timed(self, change: Callable[[tuple[float, ...]], tuple[float, ...]]) -> "Candidate":
        """The candidate with other times, each of which is made of its own."""
        return replace(
            self,
            latency_s=change(self.latency_s),
            mean_s=change(self.mean_s),
            follow_s=change(self.follow_s),
            result_s=change(self.result_s),
        )


class WaitingRows(Protocol):
    """What a policy may ask of the queue itself."""

    def deadlines_s(self) -> Sequence[float]:
        """The deadline of each waiting row, ascending. Costs a sort: ask only where a decision depends on it."""
        ...


class Outcome(NamedTuple):
    """What became of a batch for its most urgent query.

    ``late``: it was answered after its deadline. ``overran``: the batch alone took longer than from the query's arrival
    to its deadline.
    """

    late: bool
    overran: bool


class QueueView(NamedTuple):
    """One worker's queue for one stage of an endpoint when a decision is due.

    ``state`` is None at first and where the worker's variants or the policy are others since; ``last`` is None where
    the batch of that choice did not come back or the choice had no state. Candidates have ``latency`` in them already,
    deadlines ``slack_share``. Where inputs may be of any length, the view is of the rows that may share the next batch:
    ``rows``, ``waiting`` and the candidates are of their lengths, and deadlines are earlier by what the others need.
    """

    now_s: float
    rows: int  # at least 1
    earliest_deadline_s: float
    candidates: tuple[Candidate, ...]  # that the worker holds, most accurate first (of equals, the faster)
    load_qps: float = 0.0  # anticipated, on all workers of the stage together
    workers: int = 1  # of the stage
    phase: float = 0.0  # how much of the balancer's turn has passed, seen from this worker (`LoadBalancer.phase`)
    device: str = ""  # the worker's device type
    first_arrival_s: float = inf  # of the query with the earliest deadline, infinite where unknown
    waiting: WaitingRows | None = None  # the queue, where the host lets it be seen
    state: Any = None  # what the policy gave with its last choice for this worker and stage
    last: Outcome | None = None  # what became of the batch of that choice
    first_rows: int = 1  # of the query with the earliest deadline
    latency: Any = None  # what is known of the worker's latency, None where candidates are taken to be exact
    slack_share: float = 1.0  # of the slack, that feedback lets policies spend
    after_s: float = 0.0  # what queries still need after this stage: deadlines are that much earlier than in the queue
    queued_rows: int = 0  # where lengths differ: rows of all lengths, as so many of the usual one; 0 elsewhere

    def deadlines_s(self) -> Sequence[float]:
        """The deadlines of the ``rows`` rows, ascending; all the earliest where the queue cannot be seen."""
        if self.waiting is None:
            return [self.earliest_deadline_s] * self.rows
        deadlines_s = self.waiting.deadlines_s()[: self.rows]
        if self.after_s:
            deadlines_s = [deadline_s - self.after_s for deadline_s in deadlines_s]
        if self.slack_share >= 1.0:
            return deadlines_s
        return [within(self.slack_share, self.now_s, deadline_s) for deadline_s in deadlines_s]

    @property
    def slack_s(self) -> float:
        """Time until the earliest deadline; negative once it has passed."""
        return self.earliest_deadline_s - self.now_s


def within(slack_share: float, now_s: float, deadline_s: float) -> float:
    """The deadline that leaves this share of the slack; one that has passed stays."""
    return now_s + (deadline_s - now_s) * slack_share if deadline_s > now_s else deadline_s


class Promise(NamedTuple):
    """What a policy promises of the queries that a decision is about, all from 0 to 1.

    Their accuracy, where they are in time, is at least ``accuracy``, and at most ``violation_rate`` of them are late.
    ``unavoidable_rate`` of them are late because the load is more than can be borne.
    """

    accuracy: float
    violation_rate: float
    unavoidable_rate: float


class Choice(NamedTuple):
    """Run up to ``rows`` rows, earliest deadline first, on ``variant``; ``state`` is for the policy's next decision.

    ``promise`` is None where the policy promises nothing.
    """

    variant: str
    rows: int
    state: Any = None
    promise: Promise | None = None


class Hold(NamedTuple):
    """Run nothing yet: ask again when the next job joins this queue, or at ``until_s`` (after now) if none does."""

    until_s: float


class Drop(NamedTuple):
    """Give up the first ``rows`` rows, at least 1, earliest deadline first: refuse their queries and ask again at once.

    For queries that cannot be met any more, or at the price of too many behind them. Queries are refused whole.
    """

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

    def choose(self, view: QueueView) -> Choice | Hold | Drop:
        """The next batch of this queue, that it is worth waiting for more, or who is to be given up."""
        ...


@runtime_checkable
class KeepsToOne(SelectionPolicy, Protocol):
    """A policy that runs ``variant`` wherever a worker holds it, however much waits."""

    @property
    def variant(self) -> str:
        """Its name."""
        ...
