"""How a stage serves queries of any length."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from catalog.lengths import LengthRule
from dispatch.lengths.buckets import LengthBuckets
from dispatch.lengths.costs import CostsByVariant, LengthCosts
from dispatch.selection.policy import Candidate

WEIGHED_ROWS = 8
"""Rows of the batches by which a query of one length is weighed against one of another."""


@dataclass(frozen=True)
class StageLengths:
    """``rule`` says how long a query is; ``padding_share`` of a batch may be padding at most.

    ``costs`` are by device type and variant. A variant that has none, since it was registered while the service runs,
    costs what the dearest of the others does, or in proportion to the length.
    """

    rule: LengthRule
    padding_share: float
    costs: Mapping[str, CostsByVariant] = field(default_factory=dict)

    def buckets(self, observed: Mapping[int, object]) -> LengthBuckets:
        """The buckets for the lengths that were observed."""
        return LengthBuckets.covering(observed, self.rule.longest, self.padding_share)

    def costs_of(self, device: str, variant: str, max_batch: int) -> LengthCosts:
        """What a variant's batches cost on a device type."""
        known = self.costs.get(device, {})
        found = known.get(variant)
        if found is None:
            dearest = max(known.values(), key=lambda costs: costs.ratio(self.rule.longest, 1), default=None)
            found = dearest or LengthCosts.proportional(self.rule.lengths.typical_length, max_batch)
        return found

    def ratio(self, device: str, candidate: Candidate, length: int, rows: int) -> float:
        """What a batch of this length takes, as a multiple of the profile."""
        return self.costs_of(device, candidate.variant, candidate.max_batch).ratio(length, rows)

    def at(self, device: str, candidate: Candidate, length: int) -> Candidate:
        """A candidate for batches of this length."""
        return self.costs_of(device, candidate.variant, candidate.max_batch).at(candidate, length)

    def weight(self, device: str, candidates: tuple[Candidate, ...], length: int) -> float:
        """How many rows as profiled a row of this length is worth, on average over the variants."""
        if not candidates:
            return 1.0
        return fmean(self.ratio(device, each, length, min(WEIGHED_ROWS, each.max_batch)) for each in candidates)
