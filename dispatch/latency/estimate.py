"""What is known of the latency on one worker at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import hypot, inf
from statistics import fmean

from dispatch.latency.lead import LEAD, cycle_s, gap_s
from dispatch.selection.policy import Candidate


@dataclass(frozen=True, eq=False)
class LatencyEstimate:
    """What batches on a worker take from their launch to their result, relative to the profiles. Compared by identity.

    A batch whose profiled run takes r seconds on average runs for ``run_factor * r`` here, ``run_factors`` by variant
    where that is known, and needs ``path_s`` to the worker and back. In nearly all cases its run takes no more than
    ``run_tail`` times its mean, and its way no more than ``path_tail_s``. Where inputs may be of any length, factors
    are of what came of late, which takes ``length_factor`` times what profiles have; elsewhere that is 1.
    """

    run_factor: float = 1.0
    run_tail: float = 1.0  # at least 1
    path_s: float = 0.0
    path_tail_s: float = 0.0  # at least path_s
    typical_run_s: float = 0.0  # profiled mean run of recent batches; 0 before the first
    batches: float = 0.0  # how many recent batches this rests on
    run_factors: Mapping[str, float] = field(default_factory=dict)
    length_factor: float = 1.0
    lead: float = LEAD  # the share of the way by which the next batch is launched ahead of a result

    @cached_property
    def of_one_length(self) -> "LatencyEstimate":
        """The same for candidates that are of one length already."""
        if self.length_factor == 1.0:
            return self
        return replace(
            self,
            run_factor=self.run_factor / self.length_factor,
            run_factors={variant: factor / self.length_factor for variant, factor in self.run_factors.items()},
            length_factor=1.0,
        )

    def beside(self, slowdowns: Mapping[str, float]) -> "LatencyEstimate":
        """The estimate of a worker alone on its machine as it is beside others, with these predicted slowdowns.

        They are by variant, and hold for runs, not for the way there; other variants have their mean. The same estimate
        where nothing is predicted.
        """
        if not slowdowns:
            return self
        of_variant = {variant: factor * slowdown_of(variant, slowdowns) for variant, factor in self.run_factors.items()}
        unmeasured = {v: self.run_factor * slowdown for v, slowdown in slowdowns.items() if v not in of_variant}
        return replace(
            self, run_factor=self.run_factor * fmean(slowdowns.values()), run_factors={**of_variant, **unmeasured}
        )

    def gap_s(self, run_s: float) -> float:
        """How long after a batch that runs for ``run_s`` here the next may reach its worker."""
        return gap_s(self.path_s, run_s, self.run_tail, self.lead)

    def cycle_s(self, run_s: float) -> float:
        """How long after such a batch the next is launched on a worker that is never out of work, on average."""
        return cycle_s(self.path_s, run_s, self.gap_s(run_s))

    def busy_s(self, run_s: float) -> float:
        """How long a batch whose profiled mean run is ``run_s`` keeps its worker from the next, on average."""
        return self.cycle_s(self.run_factor * run_s)

    def tail_s(self, run_s: float) -> float:
        """What such a batch takes to its result in nearly all cases: run and way vary independently of each other."""
        spread_s = hypot(self.run_factor * run_s * (self.run_tail - 1.0), self.path_tail_s - self.path_s)
        return self.run_factor * run_s + self.path_s + spread_s

    def corrected(self, candidate: Candidate) -> Candidate:
        """A candidate of the plan with what its batches take here."""
        factor = self.run_factors.get(candidate.variant, self.run_factor)
        path_s, path_spread_s, run_spread = self.path_s, self.path_tail_s - self.path_s, self.run_tail - 1.0
        mean_s, tail_s, follow_s, result_s = [0.0], [0.0], [0.0], [0.0]
        for run_s in candidate.runs_s[1:]:
            here_s = factor * run_s
            gap_s = self.gap_s(here_s)
            mean_s.append(cycle_s(path_s, here_s, gap_s))
            result_s.append(here_s + path_s)
            tail_s.append(here_s + path_s + hypot(here_s * run_spread, path_spread_s))
            follow_s.append(here_s + gap_s if gap_s < path_s else inf)
        return Candidate(
            variant=candidate.variant,
            accuracy=candidate.accuracy,
            latency_s=tuple(tail_s),
            mean_s=tuple(mean_s),
            path_s=path_s,
            members=candidate.members,
            follow_s=tuple(follow_s),
            result_s=tuple(result_s),
        )


def slowdown_of(variant: str, slowdowns: Mapping[str, float]) -> float:
    """The predicted slowdown of a variant on a worker: the mean of the others' where it has none, 1 without any."""
    own = slowdowns.get(variant)
    if own is None:
        return fmean(slowdowns.values()) if slowdowns else 1.0
    return own
