"""What batches of a live service needed: by its answers, and by its own estimates."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from catalog.profiles.profile import LatencyProfile
from dispatch.latency.worker_latency import TAIL
from serve_app.testing.queries import Queries
from serve_app.testing.status_watch import Snapshot


@dataclass(frozen=True)
class MeasuredLatency:
    """What batches needed besides their profiled runs.

    The way to a worker and back takes ``path_s`` on average and ``path_tail_s`` at the 95th percentile; runs take
    ``run_factor`` times the profile's 95th percentile on average, and at their own 95th percentile ``run_tail`` times
    that.
    """

    path_s: float
    path_tail_s: float
    run_factor: float
    run_tail: float

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
        return cls(float(np.average(way_s, weights=batches)), float(way_tail_s), run_factor, float(tail))

    @classmethod
    def estimated(cls, snapshots: Sequence[Snapshot]) -> Self:
        """What the service reckoned with: means over workers and looks. Raises RuntimeError where no status came."""
        seen = [each["latency"] for snapshot in snapshots for each in snapshot.status["workers"].values()]
        if not seen:
            raise RuntimeError("the service gave no status during a load; see what else runs on this machine")
        means = {key: statistics.fmean(each[key] for each in seen) for key in FIGURES}
        return cls(means["path_ms"] / 1e3, means["path_tail_ms"] / 1e3, means["run_factor"], means["run_tail"])


FIGURES = ("path_ms", "path_tail_ms", "run_factor", "run_tail")
