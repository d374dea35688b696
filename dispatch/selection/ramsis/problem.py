"""What a decision table is made for."""

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from dispatch.selection.policy import Candidate
from dispatch.selection.ramsis.arrivals import ArrivalDistribution
from dispatch.selection.ramsis.pareto import pareto_front

Formulation = Literal["per_decision", "per_query"]
"""``per_decision``: section 4 of the paper. ``per_query``: ours (docs/ramsis.md)."""

Batching = Literal["maximal", "variable"]
Balancing = Literal["round_robin", "shortest_queue"]

MAX_QUEUE_ROWS = 32
"""Longest queue that the paper's process tells apart (section 4.2.3)."""

LONGEST_QUEUE_ROWS = 250
"""Longest queue that any does: rows are kept as bytes."""

MOST_VARIANTS = 250
"""So are variants."""


@dataclass(frozen=True)
class WorkerProblem:
    """One worker's share of an endpoint's queries.

    ``latency_s[m][n - 1]`` is the time within which n rows on variant m are answered, transport included, for n up to
    ``max_queue_rows``; more rows than the variant takes at once are so many full batches and a part of one, since what
    comes meanwhile joins the rest (`in_whole_batches`: where nothing does). It is what must fit into the slack.
    ``busy_s``, of the same shape, is the time that the worker is busy with them on average, by which the process per
    query moves on; empty where latency does not vary. ``late_share`` is the share of batches that take longer than
    ``latency_s``: 0.01 where that is the 99th percentile. ``max_rows``, by variant, is the largest batch. Variants are
    ordered by their latency with one row, fastest first (`of` prunes those that another beats at every batch size).
    ``arrivals`` is the load of all ``workers`` together. ``slack_steps`` is D of the fixed-length discretisation
    (section 4.2.2), 0 the model-based one (4.2.1). ``group`` is the number of consecutive queries that round robin
    gives to one worker.
    """

    variants: tuple[str, ...]
    accuracies: tuple[float, ...]
    latency_s: tuple[tuple[float, ...], ...]
    slo_s: float
    workers: int
    arrivals: ArrivalDistribution
    formulation: Formulation = "per_query"
    batching: Batching = "maximal"
    balancing: Balancing = "round_robin"
    slack_steps: int = 100
    group: int = 1
    busy_s: tuple[tuple[float, ...], ...] = ()
    late_share: float = 0.0
    max_rows: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        candidates: tuple[Candidate, ...],
        slo_s: float,
        workers: int,
        arrivals: ArrivalDistribution,
        formulation: Formulation = "per_query",
        batching: Batching = "maximal",
        balancing: Balancing = "round_robin",
        slack_steps: int = 100,
        max_queue_rows: int | None = None,
        late_share: float = 0.0,
    ) -> "WorkerProblem":
        """The problem for what a worker may run, pruned to the Pareto front of accuracy and latency (section 4.3.3).

        Variants that miss the objective even alone are left out, save the fastest. Queues are told apart up to
        ``max_queue_rows``; by default up to twice the largest batch that meets the objective, at least 32. Raises
        ValueError without candidates, workers, a positive objective or a load, and for a share of late batches that is
        none.
        """
        if not candidates:
            raise ValueError("no variants; give at least one candidate")
        if workers < 1 or not slo_s > 0.0:
            raise ValueError(f"{workers} workers and an objective of {slo_s} s; both must be positive")
        if not 0.0 < arrivals.rate_qps < inf:
            raise ValueError(
                f"a load of {arrivals.rate_qps:g} queries/s; give a positive one: the table of the least load serves "
                "what is below"
            )
        if max_queue_rows is not None and not 1 <= max_queue_rows <= LONGEST_QUEUE_ROWS:
            raise ValueError(f"max_queue_rows {max_queue_rows}; give 1 to {LONGEST_QUEUE_ROWS}")
        if not 0.0 <= late_share < 1.0:
            raise ValueError(f"late_share {late_share}; give a share of batches from 0 to below 1")
        front = pareto_front(candidates)
        if len(front) > MOST_VARIANTS:
            raise ValueError(f"{len(front)} variants on the Pareto front; tables hold {MOST_VARIANTS}: leave some out")
        kept = [c for c in front if c.latency_s[1] <= slo_s] or front[:1]
        if max_queue_rows is None:
            in_time = max(_rows_in_time(c, slo_s) for c in kept)
            max_queue_rows = max(MAX_QUEUE_ROWS, min(2 * in_time, LONGEST_QUEUE_ROWS))
        varies = any(c.mean_s for c in kept)
        return cls(
            variants=tuple(c.variant for c in kept),
            accuracies=tuple(c.accuracy for c in kept),
            latency_s=tuple(_of_full_batches(c.latency_s, max_queue_rows) for c in kept),
            slo_s=slo_s,
            workers=workers,
            arrivals=arrivals,
            formulation=formulation,
            batching=batching,
            balancing=balancing,
            slack_steps=slack_steps,
            busy_s=tuple(_of_full_batches(c.busy_s, max_queue_rows) for c in kept) if varies else (),
            late_share=late_share,
            max_rows=tuple(c.max_batch for c in kept),
        )

    @property
    def max_queue_rows(self) -> int:
        """Longest queue that is told apart."""
        return len(self.latency_s[0])

    @property
    def duration_s(self) -> tuple[tuple[float, ...], ...]:
        """How long a worker is busy: ``busy_s``, or ``latency_s`` where latency does not vary."""
        return self.busy_s or self.latency_s

    @property
    def load_qps(self) -> float:
        """Mean load of all workers together."""
        return self.arrivals.rate_qps

    def at_load(self, load_qps: float) -> "WorkerProblem":
        """The same worker under another load."""
        return replace(self, arrivals=self.arrivals.at_rate(load_qps))

    def grouped(self, group: int) -> "WorkerProblem":
        """The same worker under round robin with ``group`` consecutive queries for each."""
        return replace(self, group=group)

    def in_whole_batches(self) -> "WorkerProblem":
        """The same worker, where what is left over of full batches runs in one of its own.

        So it is where a group's turn is over: nothing comes that could join it. Where queries come one by one a table
        with such batches knew no queue longer than a full one with which a flat profile keeps up.
        """

        def whole(times_s: tuple[float, ...], most: int) -> tuple[float, ...]:
            rest_s = (0.0, *times_s[: most - 1])
            beyond = (n // most * times_s[most - 1] + rest_s[n % most] for n in range(most + 1, len(times_s) + 1))
            return (*times_s[:most], *beyond)

        times_s = self.busy_s or self.latency_s
        changed = tuple(whole(*each) for each in zip(times_s, self.max_rows, strict=False))
        if not changed:
            return self
        return replace(self, busy_s=changed) if self.busy_s else replace(self, latency_s=changed)

    def staggered(self) -> "WorkerProblem":
        """The same worker, where later batches of one queue answer rows that arrived later, and are due later.

        Of n rows, those of batch j arrived j full batches after the first, at the mean rate: of the slack of the first
        row they need what all batches before theirs take on average, and nearly always their own, less that delay.
        Without this, n rows in several batches had to be in time as a whole with the sum of all tails. The problem
        itself where latency does not vary.
        """
        per_row_s = self.workers / self.load_qps
        latency_s = tuple(
            _staggered(tail_s, busy_s, most, per_row_s)
            for tail_s, busy_s, most in zip(self.latency_s, self.busy_s, self.max_rows, strict=False)
        )
        return replace(self, latency_s=latency_s) if latency_s else self

    def up_to(self, rows: int) -> "WorkerProblem":
        """The same worker, with no queues longer than that told apart."""
        latency_s, busy_s = (tuple(of_variant[:rows] for of_variant in s) for s in (self.latency_s, self.busy_s))
        return replace(self, latency_s=latency_s, busy_s=busy_s)


def formulation_for(balancing: Balancing, wanted: Formulation | None = None) -> Formulation:
    """The formulation that is ``wanted``; else per query, save for queues joined by length, which have none."""
    if wanted is not None:
        return wanted
    return "per_query" if balancing == "round_robin" else "per_decision"


def _rows_in_time(candidate: Candidate, slo_s: float) -> int:
    return sum(latency_s <= slo_s for latency_s in _of_full_batches(candidate.latency_s, LONGEST_QUEUE_ROWS))


def _of_full_batches(latency_s: tuple[float, ...], rows: int) -> tuple[float, ...]:
    """Time of 1 to ``rows`` rows; ``latency_s[n]`` is that of one batch of n, and more are parts of full ones."""
    most = len(latency_s) - 1
    return tuple(latency_s[n] if n <= most else n / most * latency_s[most] for n in range(1, rows + 1))


def _staggered(tail_s: tuple[float, ...], busy_s: tuple[float, ...], most: int, per_row_s: float) -> tuple[float, ...]:
    """What n rows, in batches of up to ``most``, need of the slack of the first; a row arrives every ``per_row_s``."""
    if len(tail_s) <= most:
        return tail_s
    full_s, delay_s = busy_s[most - 1], most * per_row_s
    needed_s = list(tail_s[:most])
    for rows in range(most + 1, len(tail_s) + 1):
        before, last = divmod(rows - 1, most)
        later_s = (
            batches * (full_s - delay_s) + tail_s[last if batches == before else most - 1]
            for batches in range(1, before + 1)
        )
        needed_s.append(max(needed_s[most - 1], *later_s))
    return tuple(needed_s)
