"""Every way to ask members in one or two waves, with what it costs and how often it is right.

Where the members of a first wave agree, the others would hardly change the vote: they run only where the first wave
leads by little. That decides query by query what Cocktail's Algorithm 1 decides interval by interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from dispatch.ensemble.estimate import JointVotes
from dispatch.ensemble.member import Member

MAX_SUBSETS_OF = 10
"""Of more members only sets of the best so many are tried as first waves, none with more than half of all members but
the whole."""

MARGINS = 16
"""Values of the margin at which a first wave is enough that are tried for each."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cascades:
    """What each cascade is worth, one per index of the arrays; ``first`` and ``second`` are bit masks over the members.

    A cascade is a set of members that are asked at once, and a second one that may follow: that runs on ``escalated``
    of all rows, where the first leads by no more than ``stop_margin``. ``changed`` is the share of rows to which the
    vote of all members gives another class. Shares are of ``rows``.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    stop_margin: Floats
    escalated: Floats
    accuracy: Floats
    changed: Floats
    latency_s: Floats
    mean_latency_s: Floats
    cost: Floats
    rows: int

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which ways ask one variant."""
        return np.asarray((self.second == 0) & (np.bitwise_count(self.first) == 1))

    @property
    def everyone(self) -> int:
        """The way that asks all members at once."""
        return int(np.flatnonzero(self.first == np.bitwise_or.reduce(self.first))[0])


def cascades(members: Sequence[Member], joint: JointVotes, latency_s: float) -> Cascades:
    """All ways to ask these members that take ``latency_s`` at most, counted on the joint votes.

    ``joint`` must have all of the members. Each member alone takes no longer than ``latency_s``.
    """
    column = [joint.members.index(member.name) for member in members]
    latencies = np.array([member.latency_s for member in members])
    costs = np.array([member.cost for member in members])
    everyone = (1 << len(members)) - 1
    outcomes: dict[int, tuple[NDArray[np.int64], Floats]] = {}

    def outcome(mask: int) -> tuple[NDArray[np.int64], Floats]:
        if mask not in outcomes:
            outcomes[mask] = joint.outcome(sum(1 << column[bit] for bit in _bits(mask)))
        return outcomes[mask]

    reference = outcome(everyone)[0]
    found: list[tuple[float, ...]] = []
    for first in _first_waves(members):
        first_s = _slowest(latencies, first)
        classes, margins = outcome(first)
        alone = (float((classes == joint.labels).mean()), float((classes != reference).mean()))
        found.append((first, 0, inf, 0.0, *alone, first_s, first_s, _sum(costs, first)))
        others = [bit for bit in _bits(everyone & ~first) if first_s + latencies[bit] <= latency_s]
        if not others:
            continue
        second = sum(1 << bit for bit in others)
        second_s = _slowest(latencies, second)
        together = outcome(first | second)[0]
        order = np.argsort(-margins, kind="stable")
        right = _kept(classes == joint.labels, together == joint.labels, order)
        differ = _kept(classes != reference, together != reference, order)
        for kept in _boundaries(margins[order]):
            escalated = 1.0 - kept / len(order)
            found.append(
                (
                    first,
                    second,
                    0.5 * float(margins[order[kept - 1]] + margins[order[kept]]),
                    escalated,
                    right[kept],
                    differ[kept],
                    first_s + second_s,
                    first_s + escalated * second_s,
                    _sum(costs, first) + escalated * _sum(costs, second),
                )
            )
    columns = list(zip(*found, strict=True))
    masks = [np.array(values, np.int64) for values in columns[:2]]
    shares = [np.array(values, np.float64) for values in columns[2:]]
    return Cascades(*masks, *shares, len(joint.labels))  # type: ignore[call-arg, arg-type]


def _first_waves(members: Sequence[Member]) -> list[int]:
    """Masks of the sets that are tried as first waves."""
    ranked = sorted(range(len(members)), key=lambda index: (-members[index].accuracy, members[index].cost))
    chosen = ranked[:MAX_SUBSETS_OF]
    half = (len(members) + 1) // 2
    subsets = [subset for subset in range(1, 1 << len(chosen)) if subset.bit_count() <= half]
    masks = [sum(1 << chosen[bit] for bit in _bits(subset)) for subset in subsets]
    everyone = (1 << len(members)) - 1
    return masks if everyone in masks else [*masks, everyone]


def _kept(first: NDArray[np.bool_], both: NDArray[np.bool_], order: NDArray[np.int64]) -> Floats:
    """For each number of rows that stop after the first wave, the mean of what then holds, [rows + 1]."""
    before = np.concatenate(([0], np.cumsum(first[order])))
    after = np.concatenate((np.cumsum(both[order][::-1])[::-1], [0]))
    return np.asarray((before + after) / len(order))


def _boundaries(descending: Floats) -> list[int]:
    """Numbers of rows that can stop after the first wave: margins do not tell equal ones apart."""
    ends = np.flatnonzero(descending[:-1] > descending[1:] + 1e-9) + 1
    if len(ends) > MARGINS:
        ends = ends[np.unique(np.linspace(0, len(ends) - 1, MARGINS).round().astype(int))]
    return [int(end) for end in ends]


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _slowest(latencies: Floats, mask: int) -> float:
    return float(latencies[_bits(mask)].max())


def _sum(costs: Floats, mask: int) -> float:
    return float(costs[_bits(mask)].sum())
