"""The latency on every worker of a dispatcher."""

from statistics import median

from dispatch.latency.estimate import LatencyEstimate
from dispatch.latency.worker_latency import WorkerLatency
from dispatch.selection.policy import Candidate

DEADBAND = 0.03
"""An estimate is given out anew when some part of it differs by more than this from the one given out last."""

RENEW_EVERY_S = 0.1
"""And no more often than this: candidates are tabulated anew for it."""

PRIOR_RUN_TAIL = 1.25
"""The 99th percentile of a run over its mean, before any was measured."""

PRIOR_PATH_TAIL = 1.5
"""The same of the way."""


class LatencyEstimator:
    """Knows what batches take on each worker; ``path_s`` is the way to a worker and back before any was measured."""

    def __init__(self, path_s: float) -> None:
        self._path_s = path_s
        self._workers: dict[str, WorkerLatency] = {}
        self._given: dict[str, LatencyEstimate] = {}
        self._renewed_s: dict[str, float] = {}
        self._typical: LatencyEstimate | None = None

    def on_batch(
        self, worker: str, candidate: Candidate, rows: int, run_s: float, total_s: float, load_qps: float, now_s: float
    ) -> LatencyEstimate | None:
        """A batch of ``rows`` came back ``total_s`` after its launch, having run for ``run_s``.

        ``candidate`` is the plan's, with the profile in it. Gives the worker's estimate where it has changed.
        """
        known = self._workers.get(worker)
        if known is None:
            known = self._workers[worker] = WorkerLatency(self.estimate(worker))
        path_s = max(total_s - run_s, 0.0)
        known.on_batch(candidate.variant, candidate.runs_s[rows], run_s, path_s, load_qps, now_s)
        if now_s - self._renewed_s.get(worker, -RENEW_EVERY_S) < RENEW_EVERY_S:
            return None
        self._renewed_s[worker] = now_s
        estimate = known.estimate(load_qps)
        if not _differ(estimate, self.estimate(worker)):
            return None
        self._given[worker] = estimate
        self._typical = None
        return estimate

    def estimate(self, worker: str) -> LatencyEstimate:
        """The estimate given out last; of a worker that has run nothing yet, the median of the others'."""
        given = self._given.get(worker)
        return self.typical() if given is None else given

    def typical(self) -> LatencyEstimate:
        """The median of all workers' estimates, part by part; what is taken to hold before the first batch."""
        if self._typical is None:
            self._typical = self._median()
        return self._typical

    def _median(self) -> LatencyEstimate:
        known = list(self._given.values())
        if not known:
            return LatencyEstimate(
                run_tail=PRIOR_RUN_TAIL, path_s=self._path_s, path_tail_s=self._path_s * PRIOR_PATH_TAIL
            )
        return LatencyEstimate(
            run_factor=median(each.run_factor for each in known),
            run_tail=median(each.run_tail for each in known),
            path_s=median(each.path_s for each in known),
            path_tail_s=median(each.path_tail_s for each in known),
            typical_run_s=median(each.typical_run_s for each in known),
        )

    def forget(self, worker: str) -> None:
        """The worker is gone."""
        for kept in (self._workers, self._given, self._renewed_s):
            kept.pop(worker, None)
        self._typical = None


def _differ(one: LatencyEstimate, other: LatencyEstimate) -> bool:
    pairs = [
        (one.run_factor, other.run_factor),
        (one.run_tail, other.run_tail),
        (one.path_s, other.path_s),
        (one.path_tail_s, other.path_tail_s),
        *((factor, other.run_factors.get(variant, other.run_factor)) for variant, factor in one.run_factors.items()),
    ]
    return any(abs(a - b) > DEADBAND * b for a, b in pairs)
