"""The ways to serve texts of different lengths that are compared: one model, one dispatcher, other batches."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lengths.model import variant
from benchmarks.lengths.worker import DEVICE, ToMaximum, profile, worker
from catalog.lengths import Lengths
from catalog.profiles.profile import LatencyProfile
from deployments.runtimes.transformers_runtime import TransformersRuntime
from dispatch.lengths.costs import LengthCosts
from dispatch.lengths.stage_lengths import StageLengths
from dispatch.plan import EndpointPlan, StagePlan
from dispatch.selection.greedy import GreedySelection
from dispatch.selection.policy import Candidate

BUCKETS, MAXIMUM, LONGEST, ONE_BY_ONE = "buckets", "maximum", "longest", "one_by_one"
WAYS = (BUCKETS, MAXIMUM, LONGEST, ONE_BY_ONE)


@dataclass(frozen=True)
class Way:
    """How an endpoint is served: ``padding_share`` where it has buckets, batches of ``max_batch`` rows at most."""

    name: str
    worker: Executor
    profile: LatencyProfile
    lengths: Lengths
    max_batch: int
    padding_share: float | None

    def endpoint(self, slo_s: float) -> EndpointPlan:
        """The endpoint with this objective."""
        own = variant(self.max_batch, self.lengths)
        candidate = Candidate.of(own, self.profile, 0.001)
        lengths = None
        if self.padding_share is not None:
            rule = own.length_rule
            assert rule is not None
            costs = LengthCosts.of(self.profile, self.max_batch, self.lengths.typical_length)
            lengths = StageLengths(rule, self.padding_share, {DEVICE: {own.name: costs}})
        stage = StagePlan({DEVICE: (candidate,)}, GreedySelection(), None, lengths=lengths)
        return EndpointPlan.of_stage("texts", stage, slo_s=slo_s, max_queued_rows=10**6)


@contextmanager
def ways(
    folder: Path, lengths: Lengths, max_batch: int, padding_share: float, budget_s: float
) -> Iterator[dict[str, Way]]:
    """All of them with the model in ``folder``, each with what it was just measured to take for such texts.

    Their workers end with the context.
    """
    with (
        worker(TransformersRuntime, folder, lengths) as to_batch,
        worker(ToMaximum, folder, lengths) as to_maximum,
    ):
        by_length = to_batch.submit(profile, lengths, max_batch, budget_s, True).result()
        plain = to_maximum.submit(profile, lengths, max_batch, budget_s, False).result()
        yield {
            BUCKETS: Way(BUCKETS, to_batch, by_length, lengths, max_batch, padding_share),
            MAXIMUM: Way(MAXIMUM, to_maximum, plain, lengths, max_batch, None),
            LONGEST: Way(LONGEST, to_batch, by_length, lengths, max_batch, None),
            ONE_BY_ONE: Way(ONE_BY_ONE, to_batch, by_length, lengths, 1, None),
        }
