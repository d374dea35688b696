"""What the exact planner is told."""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, get_args

from catalog.errors import ConfigError

Overload = Literal["most", "even"]

Accuracy = Literal["given", "normalised"]
MOST_FALLBACKS = 16
"""More variants than these are beside the point: what matters is that some are much faster, and some a little."""

SOLVERS = ("highs", "scip")


class Room(NamedTuple):
    """What planned variants are to have free: standard deviations of load, more that costs so much accuracy, and more
    down to this part of the accuracy of the best variants."""

    deviations: float
    tolerance: float
    down_to: float


ALONE = Room(0.25, 0.004, 0.97)
BEFORE_FALLBACKS = Room(0.0, 0.001, 0.975)
"""Fallback variants answer what is beyond; more room costs accuracy all the time, and hardly saves a query."""


@dataclass(frozen=True)
class ProteusOptions:
    """How to plan; the paper is ``deviations`` 0, ``tolerance`` 0, ``room_down_to`` 1, ``use_idle_workers`` False and
    ``accuracy`` normalised.

    A plan has room for ``headroom`` times the demand, and for so many standard ``deviations`` of the queries that
    come within an objective if they come at random: the less there are, the more their number varies. Where the
    cluster cannot, it has as much room as it can. It has more where that costs at most ``tolerance`` of effective
    accuracy, unless it is ``fair`` or sizes a pool. ``use_idle_workers`` gives workers that are not needed to the
    busiest. Under the same conditions it takes variants that are less accurate for more deviations of room, down to
    ``room_down_to`` of the effective accuracy that the best variants have; 1 keeps accuracy. Of these three, None is
    what suits: `ALONE`, or `BEFORE_FALLBACKS` where there are fallback variants, since bursts are what those are for.
    ``accuracy`` is as ``given``, or ``normalised``: each variant's in parts of the best of its endpoint (section
    6.1.4), so that endpoints weigh alike.

    ``gap`` and ``limit_s`` (building models included) end a solve. ``solver`` is scip or highs. ``fair`` puts the
    endpoint first that is worst off (section 7); ``price_per_point`` is the price per hour that one point (0.01) of
    effective accuracy is worth, for pools whose size is free; ``per_worker`` 2 lets two variants share a worker. Where
    not all can be served, ``overload`` is ``most``, for the most queries, which starves endpoints whose queries are
    expensive (as in the paper), or ``even``, for the same part of every endpoint's demand, as large as it goes, before
    anything more.
    """

    headroom: float = 1.0
    deviations: float | None = None
    tolerance: float | None = None
    room_down_to: float | None = None
    use_idle_workers: bool = True
    gap: float = 1e-3
    limit_s: float = 5.0
    solver: str = "scip"
    fair: bool = False
    price_per_point: float = inf
    per_worker: int = 1
    overload: Overload = "most"
    accuracy: Accuracy = "given"
    fallback: int = 0

    def __post_init__(self) -> None:
        """Raise `ConfigError` for values that no plan can be made with."""
        deviations, tolerance, down_to = self.room
        for name, value, fits, wanted in (
            ("headroom", self.headroom, 1 <= self.headroom < inf, "a number from 1"),
            ("deviations", deviations, 0 <= deviations < inf, "a number from 0"),
            ("tolerance", tolerance, 0 <= tolerance < 1, "a number from 0 and below 1"),
            ("room_down_to", down_to, 0 < down_to <= 1, "a number above 0 and up to 1"),
            ("gap", self.gap, 0 <= self.gap < 1, "a number from 0 and below 1"),
            ("limit_s", self.limit_s, 0 < self.limit_s < inf, "a time above 0"),
            ("solver", self.solver, self.solver in SOLVERS, f"one of {', '.join(SOLVERS)}"),
            ("price_per_point", self.price_per_point, self.price_per_point > 0, "a price above 0"),
            ("overload", self.overload, self.overload in get_args(Overload), f"one of {', '.join(get_args(Overload))}"),
            ("accuracy", self.accuracy, self.accuracy in get_args(Accuracy), f"one of {', '.join(get_args(Accuracy))}"),
            ("fallback", self.fallback, 0 <= self.fallback <= MOST_FALLBACKS, f"a number from 0 to {MOST_FALLBACKS}"),
            ("per_worker", self.per_worker, self.per_worker in (1, 2), "1 or 2"),
        ):
            if not fits:
                raise ConfigError(f"{name} of the planner is {value!r}; give {wanted}")

    @property
    def room(self) -> Room:
        """What is told, and where nothing is, what suits."""
        usual = BEFORE_FALLBACKS if self.fallback else ALONE
        return Room(
            usual.deviations if self.deviations is None else self.deviations,
            usual.tolerance if self.tolerance is None else self.tolerance,
            usual.down_to if self.room_down_to is None else self.room_down_to,
        )
