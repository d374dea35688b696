"""What batches of a live service needed: by its answers, and by its own estimates."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np

from catalog.profiles.profile import LatencyProfile
from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import TAIL
from serve_app.testing.queries import Queries
from serve_app.testing.status_watch import Snapshot

FIGURES = ("path_ms", "path_tail_ms", "run_factor", "run_tail", "lead")


@dataclass(frozen=True)
class MeasuredLatency:
    """What batches needed besides their profiled runs.

    The way to a worker and back takes ``path_s`` on average and ``path_tail_s`` at the 95th percentile; runs take
    ``run_factor`` times the profile's 95th percentile on average, and at their own 95th percentile ``run_tail`` times
    that. ``typical_run_s`` is that of the profile, on average.
    """

    path_s: float
    path_tail_s: float
    run_factor: float
    run_tail: float
    typical_run_s: float

    @classmethod
    def of(cls, queries: Queries, profiles: Mapping[str, LatencyProfile]) -> Self:
        """What the answers say, each batch counting once. Raises RuntimeError where none says anything."""
        told = np.flatnonzero(queries.rows > 0)
        if not len(told):
            raise RuntimeError("no answer says how long its batch ran; see what else runs on this machine")
        rows, run_s, way_s = queries.rows[told], queries.run_s[told], queries.way_s[told]
        batches = 1.0 / rows
        profiled_s = np.array([profiles[str(queries.variant[i])].p95_s(int(queries.rows[i])) for i in told])
        run_factor = float(batches @ run_s / (batches @ profiled_s))
        tail = np.quantile(run_s / (run_factor * profiled_s), TAIL, weights=batches, method="inverted_cdf")
        way_tail_s = np.quantile(way_s, TAIL, weights=batches, method="inverted_cdf")
        return cls(
            path_s=float(np.average(way_s, weights=batches)),
            path_tail_s=float(way_tail_s),
            run_factor=run_factor,
            run_tail=float(tail),
            typical_run_s=float(np.average(profiled_s, weights=batches)),
        )


@dataclass(frozen=True)
class Ahead:
    """How batches were launched ahead of results from some instant on, as `LatencyEstimator` has it."""

    from_s: float
    lead: float
    all_ahead: bool


def ahead_of(snapshots: Sequence[Snapshot], begin_s: float, zero_s: float) -> tuple[Ahead, ...]:
    """What each look saw, from half way since the one before on, the first from ``begin_s`` on, which is relative to
    ``zero_s`` as the given instants are. Empty where no status came.
    """
    found: list[Ahead] = []
    before_s = -inf
    for snapshot in snapshots:
        if workers := [each["latency"] for each in snapshot.status["workers"].values()]:
            at_s = snapshot.told_s - zero_s
            from_s = max((before_s + at_s) / 2.0, begin_s)
            lead = statistics.fmean(each["lead"] for each in workers)
            found.append(Ahead(from_s, lead, all(each["all_ahead"] for each in workers)))
            before_s = at_s
    return tuple(found)


def estimates_of(snapshots: Sequence[Snapshot], typical_run_s: float) -> tuple[LatencyEstimate, ...]:
    """What the service reckoned with at each look, means over its workers, whose batches had such profiled runs.

    Raises RuntimeError where no status came.
    """
    looks = [[each["latency"] for each in snapshot.status["workers"].values()] for snapshot in snapshots]
    if not any(looks):
        raise RuntimeError("the service gave no status during a load; see what else runs on this machine")
    return tuple(_estimate(workers, typical_run_s) for workers in looks if workers)


def _estimate(workers: Sequence[Mapping[str, Any]], typical_run_s: float) -> LatencyEstimate:
    means = {key: statistics.fmean(each[key] for each in workers) for key in FIGURES}
    return LatencyEstimate(
        run_factor=means["run_factor"],
        run_tail=means["run_tail"],
        path_s=means["path_ms"] / 1e3,
        path_tail_s=means["path_tail_ms"] / 1e3,
        typical_run_s=typical_run_s,
        lead=means["lead"],
    )
