"""The latency on every worker of a dispatcher."""

from collections.abc import Mapping
from statistics import median

from dispatch.latency.estimate import LatencyEstimate, slowdown_of
from dispatch.latency.lead import LEAD
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


NOTHING_PREDICTED: Mapping[str, float] = {}


class LatencyEstimator:
    """Knows what batches take on each worker; ``path_s`` is the way to a worker and back before any was measured.

    ``lead`` is the share of the way by which batches are launched ahead of results from the next estimates on;
    ``all_ahead`` where batches behind those that were launched ahead are so too, at once.
    Where slowdowns of workers beside others of their machine are predicted, what is measured are runs without them:
    estimates follow a change of the prediction at once, and the measurement corrects it from there.
    """

    def __init__(self, path_s: float) -> None:
        self.lead = LEAD
        self.all_ahead = True
        self._path_s = path_s
        self._workers: dict[str, WorkerLatency] = {}
        self._predicted: Mapping[str, Mapping[str, float]] = {}
        # What was given out last, without the predicted slowdowns, and the medians without and with them.
        self._given: dict[str, LatencyEstimate] = {}
        self._typical_alone: LatencyEstimate | None = None
        self._renewed_s: dict[str, float] = {}
        self._typical: LatencyEstimate | None = None

    def predict(self, slowdowns: Mapping[str, Mapping[str, float]]) -> frozenset[str]:
        """By worker and variant, how many times longer than alone runs are predicted to take from now on.

        Workers that are not named are alone. Gives those of which something else was predicted before.
        """
        before, self._predicted = self._predicted, slowdowns
        if before is slowdowns:
            return frozenset()
        self._typical = None
        return frozenset(w for w in before.keys() | slowdowns.keys() if before.get(w) != slowdowns.get(w))

    def on_batch(
        self,
        worker: str,
        candidate: Candidate,
        rows: int,
        run_s: float,
        total_s: float,
        load_qps: float,
        now_s: float,
        length_ratio: float = 1.0,
        waited_s: float = 0.0,
    ) -> LatencyEstimate | None:
        """A batch of ``rows`` came back ``total_s`` after its launch, having run for ``run_s`` and waited for the run
        before it.

        ``candidate`` is the plan's, with the profile in it, which a batch of this length takes ``length_ratio`` times
        of. Gives the worker's estimate where it has changed.
        """
        known = self._workers.get(worker)
        if known is None:
            known = self._workers[worker] = WorkerLatency(self._alone(worker))
        path_s = max(total_s - run_s, 0.0)
        alone_s = run_s / slowdown_of(candidate.variant, self._slowdowns(worker))
        profiled_s = candidate.runs_s[rows] * length_ratio
        known.on_batch(candidate.variant, profiled_s, alone_s, path_s, load_qps, now_s, length_ratio, waited_s)
        if now_s - self._renewed_s.get(worker, -RENEW_EVERY_S) < RENEW_EVERY_S:
            return None
        self._renewed_s[worker] = now_s
        estimate = known.estimate(load_qps, self.lead)
        before = self._given.get(worker)
        if before is not None and not _differ(estimate, before):
            return None
        self._given[worker] = estimate
        self._typical = self._typical_alone = None
        return self.estimate(worker)

    def estimate(self, worker: str) -> LatencyEstimate:
        """The estimate given out last, with the slowdowns that are predicted now.

        Of a worker that has run nothing yet, the median of the others' alone with its own predicted slowdowns.
        """
        return self._alone(worker).beside(self._slowdowns(worker))

    def typical(self) -> LatencyEstimate:
        """The median of all workers' estimates, part by part; what is taken to hold before the first batch."""
        if not self._predicted:
            return self._typical_of_alone()
        if self._typical is None:
            known = [self.estimate(worker) for worker in self._given.keys() | self._predicted.keys()]
            self._typical = self._median(known)
        return self._typical

    def _slowdowns(self, worker: str) -> Mapping[str, float]:
        return self._predicted.get(worker, NOTHING_PREDICTED)

    def _alone(self, worker: str) -> LatencyEstimate:
        """The worker's estimate without the predicted slowdowns."""
        given = self._given.get(worker)
        return self._typical_of_alone() if given is None else given

    def _typical_of_alone(self) -> LatencyEstimate:
        if self._typical_alone is None:
            self._typical_alone = self._median(list(self._given.values()))
        return self._typical_alone

    def _median(self, known: list[LatencyEstimate]) -> LatencyEstimate:
        if not known:
            return LatencyEstimate(
                run_tail=PRIOR_RUN_TAIL,
                path_s=self._path_s,
                path_tail_s=self._path_s * PRIOR_PATH_TAIL,
                lead=self.lead,
            )
        return LatencyEstimate(
            run_factor=median(each.run_factor for each in known),
            run_tail=median(each.run_tail for each in known),
            path_s=median(each.path_s for each in known),
            path_tail_s=median(each.path_tail_s for each in known),
            typical_run_s=median(each.typical_run_s for each in known),
            length_factor=median(each.length_factor for each in known),
            lead=self.lead,
        )

    def forget(self, worker: str) -> None:
        """The worker is gone."""
        for kept in (self._workers, self._given, self._renewed_s):
            kept.pop(worker, None)
        self._typical = self._typical_alone = None


def _differ(one: LatencyEstimate, other: LatencyEstimate) -> bool:
    pairs = [
        (one.run_factor, other.run_factor),
        (one.run_tail, other.run_tail),
        (one.path_s, other.path_s),
        (one.path_tail_s, other.path_tail_s),
        (one.length_factor, other.length_factor),
        (one.lead, other.lead),
        *((factor, other.run_factors.get(variant, other.run_factor)) for variant, factor in one.run_factors.items()),
    ]
    return any(abs(a - b) > DEADBAND * b for a, b in pairs)
