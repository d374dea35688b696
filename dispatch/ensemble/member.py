"""What an ensemble can consist of, and what is asked of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor

LATENCY_STEP_S = 0.001
"""Constraints of queries on latency are rounded down to this, so that sets of members are found again."""

ROUNDING_STEPS = 1e-6
"""Part of a step by which a whole number of them may come out too small: instants count from the machine's start."""


@dataclass(frozen=True)
class Member:
    """A variant that can take part in votes.

    ``latency_s`` is what one inference takes, ``accuracy`` its own (0 to 1). ``packing_factor`` is how many of its
    inferences one instance runs at once at that latency (Cocktail, section 2.3.2); ``cost`` the price of one of them,
    which is the instance's divided by the packing factor unless said otherwise (section 4.1, the terms of mu_C).
    """

    name: str
    latency_s: float
    accuracy: float
    packing_factor: float = 1.0
    instance_cost: float = 1.0

    @property
    def cost(self) -> float:
        """Price of one inference, in units of ``instance_cost``."""
        return self.instance_cost / self.packing_factor


@dataclass(frozen=True)
class Constraint:
    """What a query asks for: an answer within ``latency_s`` that is right with a probability of ``accuracy`` at least.

    ``accuracy`` of None asks for the most that there is. ``mean_latency_s`` bounds the mean over many queries as well.
    """

    latency_s: float
    accuracy: float | None = None
    mean_latency_s: float | None = None

    @classmethod
    def within(cls, latency_s: float, accuracy: float | None) -> "Constraint":
        """That of a query whose members may take so long, in whole steps."""
        steps = floor(latency_s / LATENCY_STEP_S + ROUNDING_STEPS)
        return cls(round(steps * LATENCY_STEP_S, 9), accuracy)


@dataclass(frozen=True)
class MemberSet:
    """Who votes on a query.

    All members of the first of ``waves`` run at once. A further wave runs only where the vote of those before leads by
    no more than ``stop_margin``, in units of the weights. ``accuracy`` is what the estimate says of the whole;
    ``latency_s`` the slowest of each wave, summed, ``first_s`` the first wave's; ``mean_latency_s`` is that over many
    queries. ``shares`` says what share of queries runs each member: its popularity (Cocktail, section 4.2.2). Where
    all are to be heard, ``wait_for_all`` keeps a query waiting whose vote is decided already.
    """

    waves: tuple[tuple[str, ...], ...]
    accuracy: float
    latency_s: float
    first_s: float
    mean_latency_s: float
    stop_margin: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    wait_for_all: bool = False

    @property
    def members(self) -> tuple[str, ...]:
        """All that may be asked, those of the first wave first."""
        return tuple(name for wave in self.waves for name in wave)

    @property
    def mean_members(self) -> float:
        """How many members run for a query on average."""
        return sum(self.shares.values())
