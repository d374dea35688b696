"""What is asked of IPA's integer program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from dispatch.selection.policy import Candidate

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Powers of two from 1 to 64 (section 4.2)."""

Accuracy = Literal["rank", "product", "measured"]
"""What a pipeline's accuracy is: the sum of its variants' normalised ranks (section 4.1), the natural logarithm of the
product of their accuracies, or what was measured of the whole pipeline."""


@dataclass(frozen=True)
class Option:
    """A variant on one device type: ``cost`` is that of one replica, in cores or in money."""

    candidate: Candidate
    cost: float
    device: str = ""


@dataclass(frozen=True)
class StageProblem:
    """One stage with its ``options``. ``after`` names the stages whose outputs it takes.

    ``jobs_per_query`` is how many jobs a query makes of it on average: more than 1 where it is cut into parts, less
    where it depends on a condition.
    """

    name: str
    after: tuple[str, ...]
    options: tuple[Option, ...]
    jobs_per_query: float = 1.0


@dataclass(frozen=True)
class PipelineProblem:
    """One pipeline, its stages each behind those that it takes from, and the load to be served within ``slo_s``.

    ``measured_accuracy`` is by the variants of the stages, in their order.
    """

    name: str
    slo_s: float
    load_qps: float
    stages: tuple[StageProblem, ...]
    measured_accuracy: Mapping[tuple[str, ...], float] = field(default_factory=dict)


@dataclass(frozen=True)
class IpaOptions:
    """The weights of equation 8: ``alpha`` of accuracy, ``beta`` of cost, ``delta`` of batch sizes.

    With ``several`` a stage may have more than one active variant (an extension; the paper has one). A solve ends after
    ``time_limit_s`` with the best plan so far and its gap.
    """

    alpha: float = 1.0
    beta: float = 0.01
    delta: float = 1e-6
    accuracy: Accuracy = "rank"
    batch_sizes: tuple[int, ...] = BATCH_SIZES
    several: bool = False
    time_limit_s: float = 10.0


@dataclass(frozen=True)
class Workers:
    """How many workers of each device type there may be in all; those that are missing have no limit."""

    limits: Mapping[str, int] = field(default_factory=dict)

    def limit(self, device: str) -> float:
        """Of one device type."""
        return self.limits.get(device, inf)
