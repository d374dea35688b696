"""``shadow`` of an endpoint, and what variants did on labelled data, as the dispatcher has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dispatch.ensemble.ballots import Ballots


class Together(NamedTuple):
    """What a variant did on labelled examples beside its reference."""

    examples: int
    right: int  # examples that the variant got right
    agreed: int  # examples on which both named one class


class Right(NamedTuple):
    """The share of labelled examples whose class a variant got right, and the lower end of its 95% interval."""

    share: float
    least: float


@dataclass(frozen=True)
class ShadowRules:
    """A ``share`` of the queries, drawn by a generator with this ``seed``, is compared with the reference.

    ``together`` is by variant and reference, where both were recorded on the same examples. ``right`` is by variant,
    where that was measured; the accuracy that plans reckon with stands in for others, and may be by another metric.
    """

    share: float
    ballots: Ballots
    together: Mapping[tuple[str, str], Together] = field(default_factory=dict)
    right: Mapping[str, Right] = field(default_factory=dict)
    seed: int = 0
