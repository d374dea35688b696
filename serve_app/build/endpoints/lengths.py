"""How endpoints serve queries of any length."""

from collections.abc import Sequence

from catalog.lengths import LengthRule
from catalog.variant import Variant
from dispatch.lengths.costs import LengthCosts
from dispatch.lengths.stage_lengths import StageLengths
from serve_app.build.candidates import Profiles


def rule_of(variants: Sequence[Variant]) -> LengthRule | None:
    """How long queries of a task are by the variants that declare it; None where none does."""
    return next((rule for variant in variants if (rule := variant.length_rule) is not None), None)


def stage_lengths(variants: Sequence[Variant], profiles: Profiles, padding_share: float) -> StageLengths | None:
    """The lengths of a stage that these variants may run, with what they cost by device; None for fixed sizes.

    A variant that declares no lengths costs the same whatever they are.
    """
    rule = rule_of(variants)
    if rule is None:
        return None
    typical = rule.lengths.typical_length
    costs = {
        device: {
            variant.name: LengthCosts.constant(variant.max_batch)
            if variant.lengths is None
            else LengthCosts.of(measured[variant.name], variant.max_batch, typical)
            for variant in variants
            if variant.name in measured
        }
        for device, measured in profiles.items()
    }
    return StageLengths(rule, padding_share, costs)
