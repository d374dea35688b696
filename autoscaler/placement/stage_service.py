"""How the stages of a pipeline are served under a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from autoscaler.cluster.cluster import Endpoint, Stage
from autoscaler.cluster.plan import StageChoice
from dispatch.batching.planned_batches import PlannedBatches
from dispatch.plan import StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate, SelectionPolicy


@dataclass(frozen=True)
class StageService:
    """The ``candidates`` of a stage by device type, or by pool, and what a query still needs behind it.

    ``batch_rows`` are planned by variant, None where no plan says anything; the plan counts on ``worker_share`` of the
    workers, and on ``wait_s`` and ``run_s`` for a query in the stage, and a batch of a more accurate variant that it
    has not chosen may take ``longest_s``.
    """

    candidates: Mapping[str, tuple[Candidate, ...]]
    after_s: float
    batch_rows: Mapping[str, int] | None = None
    worker_share: float = 1.0
    wait_s: float = 0.0
    run_s: float = 0.0
    longest_s: float = inf

    def of(self, stage: StagePlan) -> StagePlan:
        """The stage as it is served now."""
        return replace(stage, candidates=self.candidates, after_s=self.after_s, selection=self._selection())

    def _selection(self) -> SelectionPolicy:
        if self.batch_rows is None:
            return GreedySelection()
        own_s = self.wait_s + self.run_s
        whole_s = own_s + self.after_s
        return PlannedBatches(
            self.batch_rows,
            worker_share=self.worker_share,
            time_share=own_s / whole_s if whole_s else 1.0,
            longest_s=self.longest_s,
            run_s=self.run_s,
        )


def stage_services(endpoint: Endpoint, chosen: Mapping[str, StageChoice]) -> dict[str, StageService]:
    """By stage of a pipeline; empty for an endpoint of one task, which keeps the policy of its config.

    Variants of the stage that the plan has not chosen serve as well where a worker holds one, as it may while a plan
    comes into force. A stage that the plan does not choose for leaves those behind it what is theirs of the objective,
    by how long their variants take.
    """
    behind_s = shares_behind_s(endpoint.stages, endpoint.slo_s)
    return {
        stage.name: StageService(
            stage.candidates,
            behind_s[stage.name] if choice is None else choice.after_s,
            **({} if choice is None else _planned(choice)),
        )
        for stage in endpoint.stages
        for choice in [chosen.get(stage.name)]
    }


def _planned(choice: StageChoice) -> dict[str, Any]:
    return {
        "batch_rows": choice.variants,
        "worker_share": choice.worker_share,
        "wait_s": choice.wait_s,
        "run_s": choice.run_s,
        "longest_s": inf if choice.beyond_s is None else choice.beyond_s,
    }


def shares_behind_s(stages: Sequence[Stage], slo_s: float) -> dict[str, float]:
    """By stage the part of the objective that belongs to the stages behind it.

    Each stage counts for the mean latency of its candidates for one row, as section 4.2 of IPA shares an objective out;
    the stages behind one count for their longest path.
    """
    typical_s = {stage.name: _typical_s(stage) for stage in stages}
    behind_s = dict.fromkeys(typical_s, 0.0)
    for stage in reversed(stages):
        for source in stage.after:
            behind_s[source] = max(behind_s[source], typical_s[stage.name] + behind_s[stage.name])
    whole_s = max((typical_s[name] + behind_s[name] for name in typical_s), default=0.0)
    return {name: slo_s * s / whole_s if whole_s else 0.0 for name, s in behind_s.items()}


def _typical_s(stage: Stage) -> float:
    known = [candidate.latency_s[1] for own in stage.candidates.values() for candidate in own]
    return sum(known) / len(known) if known else 0.0
