"""Which members vote, for what a query asks (Cocktail, section 4.1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConstraintUnmet
from catalog.votes import RecordedVotes
from dispatch.ensemble.cascades import Cascades, cascades
from dispatch.ensemble.estimate import JointVotes, independent_accuracy
from dispatch.ensemble.member import Constraint, Member, MemberSet

ACCURACY_MARGIN = 0.002
"""An estimate that is so much below the accuracy asked for still meets it (Cocktail, section 4.1: 0.2%)."""

LOST_AT_MOST = 0.003
"""Accuracy that a set may lose against the best way to ask, where the most accuracy is asked for."""

SURE = (4.0, 2.0)
"""Standard errors by which a way's own accuracy must be sure: thousands of ways are compared, and some are lucky. The
second counts where by the first only all members will do."""

SURE_OF_FEW = 2.0
"""Standard errors for single variants, of which there are few to be lucky."""

SURE_OF_CHANGES = 2.0
"""Standard errors that are added to the share of rows that a way changes."""

REMEMBERED = 256
"""Constraints whose sets are kept."""

CASCADES_REMEMBERED = 64
"""Limits of latency and fast members whose ways are kept: of 10 members they take more than a megabyte each."""


class MemberSelector:
    """Chooses the cheapest members that meet a constraint; a single one where that suffices.

    Objective O1 keeps the members that are fast enough, O2 minimises the cost while the accuracy is reached. With
    recorded ``votes`` accuracies are counted on them, and a set may be asked in two waves; without, they come from the
    members' own by `binomial_accuracy`. Limits of latency are rounded down to once or twice that of a member. Repeated
    constraints are answered from memory. Raises ValueError without members, or where votes lack one of them.
    """

    def __init__(self, members: Sequence[Member], votes: RecordedVotes | None = None) -> None:
        if not members:
            raise ValueError("an ensemble needs at least one member")
        self.members = tuple(members)
        self._joint = None if votes is None else JointVotes(votes.of([member.name for member in members]))
        self._sets: dict[tuple[object, ...], MemberSet] = {}
        self._accuracies: dict[frozenset[str], float] = {}
        self._cascades: dict[tuple[object, ...], Cascades] = {}

    def select(self, constraint: Constraint, available: Collection[str] | None = None) -> MemberSet:
        """The members for this constraint, of those that are ``available`` (None for all).

        Raises `ConstraintUnmet` with what is possible.
        """
        fast = self._fast(constraint, available)
        asked = None if constraint.accuracy is None else round(constraint.accuracy, 4)
        limit_s = _effective_limit_s(fast, constraint.latency_s)
        key = (tuple(m.name for m in fast), limit_s, constraint.mean_latency_s, asked)
        if key not in self._sets:
            if len(self._sets) >= REMEMBERED:
                self._sets.pop(next(iter(self._sets)))
            found = self._independent if self._joint is None else self._counted
            self._sets[key] = found(fast, limit_s, replace(constraint, accuracy=asked))
        return self._sets[key]

    def prepare(self) -> None:
        """Work out now what takes its time, for all limits of latency."""
        if self._joint is not None:
            for limit_s in sorted({times * m.latency_s for m in self.members for times in (1.0, 2.0)}):
                self.select(Constraint(limit_s))

    def full(self, constraint: Constraint, available: Collection[str] | None = None) -> MemberSet:
        """All members that are fast enough, at once; raises `ConstraintUnmet` where there is none."""
        return self._at_once(_on_average(self._fast(constraint, available), constraint))

    def check_accuracy(self, constraint: Constraint, chosen: MemberSet) -> None:
        """Raise `ConstraintUnmet` where neither these members nor any others reach the accuracy that is asked for."""
        if constraint.accuracy is not None and chosen.accuracy < constraint.accuracy - ACCURACY_MARGIN:
            self.select(constraint)

    def accuracy(self, members: Sequence[str]) -> float:
        """What the estimate says of the vote of these members."""
        key = frozenset(members)
        if key not in self._accuracies:
            if self._joint is not None:
                self._accuracies[key] = self._joint.accuracy(members)
            else:
                self._accuracies[key] = independent_accuracy({m.name: m.accuracy for m in self.members}, members)
        return self._accuracies[key]

    def _fast(self, constraint: Constraint, available: Collection[str] | None) -> list[Member]:
        alive = [m for m in self.members if available is None or m.name in available]
        fast = [m for m in alive if m.latency_s <= constraint.latency_s]
        if not fast:
            raise _too_fast(constraint, alive)
        return fast

    # -- with recorded votes ----------------------------------------------------------------------------------

    def _counted(self, fast: Sequence[Member], limit_s: float, constraint: Constraint) -> MemberSet:
        """``limit_s`` stands for all limits of latency that are like the constraint's."""
        assert self._joint is not None
        key = (tuple(m.name for m in fast), limit_s)
        if key not in self._cascades:
            if len(self._cascades) >= CASCADES_REMEMBERED:
                self._cascades.pop(next(iter(self._cascades)))
            self._cascades[key] = cascades(fast, self._joint, limit_s)
        known = self._cascades[key]
        possible = np.ones(len(known.cost), np.bool_)
        if constraint.mean_latency_s is not None:
            possible = known.mean_latency_s <= constraint.mean_latency_s
            if not possible.any():
                raise _too_fast_on_average(constraint, fast)
        if constraint.accuracy is None:
            meets = _as_good_as_any(known, possible)
        else:
            meets = possible & (known.accuracy >= constraint.accuracy - ACCURACY_MARGIN)
            if not meets.any():
                raise _unmet(constraint, float(known.accuracy[possible].max(initial=0.0)))
        if not meets.any():  # nothing that is fast enough on average says what all members say: the nearest to it
            meets = possible & (known.changed <= known.changed[possible].min(initial=1.0))
        cost = np.where(meets, known.cost, np.inf)
        best = int(np.lexsort((-known.accuracy, cost))[0])
        return _as_set(fast, known, best)

    # -- without ----------------------------------------------------------------------------------------------

    def _independent(self, fast: Sequence[Member], limit_s: float, constraint: Constraint) -> MemberSet:
        """Grow the set by the most accurate until the binomial estimate suffices, or take a single one that does."""
        fast = _on_average(fast, constraint)
        accuracies = {m.name: m.accuracy for m in fast}
        ranked = sorted(fast, key=lambda m: (-m.accuracy, m.cost))
        if constraint.accuracy is None:
            odd = range(1, len(ranked) + 1, 2)
            best = max(odd, key=lambda n: independent_accuracy(accuracies, [m.name for m in ranked[:n]]))
            return self._at_once(ranked[:best])
        wanted = constraint.accuracy - ACCURACY_MARGIN
        meeting = [m for m in fast if m.accuracy >= wanted]
        sets = [[m] for m in meeting]
        sets += [
            ranked[:n]
            for n in range(3, len(ranked) + 1, 2)
            if independent_accuracy(accuracies, [m.name for m in ranked[:n]]) >= wanted
        ]
        if not sets:
            possible = max(
                independent_accuracy(accuracies, [m.name for m in ranked[:n]]) for n in range(1, len(ranked) + 1, 2)
            )
            raise _unmet(constraint, possible)
        return self._at_once(min(sets, key=lambda chosen: sum(m.cost for m in chosen)))

    def _at_once(self, members: Sequence[Member]) -> MemberSet:
        names = tuple(m.name for m in members)
        slowest_s = max(m.latency_s for m in members)
        accuracy = members[0].accuracy if len(members) == 1 and self._joint is None else self.accuracy(names)
        return MemberSet((names,), accuracy, slowest_s, slowest_s, slowest_s, shares=dict.fromkeys(names, 1.0))


def _effective_limit_s(fast: Sequence[Member], limit_s: float) -> float:
    """The longest within the limit that one or two waves of equally fast members take: few limits are to be known."""
    return max(total for m in fast for total in (m.latency_s, 2.0 * m.latency_s) if total <= limit_s)


def _as_good_as_any(known: Cascades, possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The ways that surely lose no more than `LOST_AT_MOST` against the best of the ``possible`` ones.

    Nor by the estimates against the best single variant, of which there are too few for one to be that lucky: with a
    variant that all members together do not reach, they are not the measure.
    """
    alone = known.accuracy[possible & known.single].max(initial=0.0)
    possible = meets = possible & (known.accuracy >= alone - LOST_AT_MOST)
    for sure in SURE:
        surely = _surely(known, sure)
        meets = possible & (surely >= surely[possible].max() - LOST_AT_MOST)
        if known.cost[meets].min() < known.cost[known.everyone]:
            break
    return np.asarray(meets)


def _surely(known: Cascades, sure: float) -> NDArray[np.float64]:
    """The accuracy that each way has for sure: that of all members less the rows that it may change, or its own less
    what may be luck on those rows, whichever is more."""
    error = np.sqrt(known.changed / known.rows)
    changes = known.changed + SURE_OF_CHANGES * error
    errors = np.where(known.single, min(sure, SURE_OF_FEW), sure)
    return np.asarray(np.maximum(known.accuracy[known.everyone] - changes, known.accuracy - errors * error))


def _on_average(fast: Sequence[Member], constraint: Constraint) -> Sequence[Member]:
    """Those that can be asked at once: a query takes as long as the slowest of them."""
    limit_s = constraint.mean_latency_s
    if limit_s is None:
        return fast
    chosen = [m for m in fast if m.latency_s <= limit_s]
    if not chosen:
        raise _too_fast_on_average(constraint, fast)
    return chosen


def _as_set(fast: Sequence[Member], known: Cascades, index: int) -> MemberSet:
    first, second = (
        tuple(m.name for bit, m in enumerate(fast) if int(masks[index]) >> bit & 1)
        for masks in (known.first, known.second)
    )
    shares: Mapping[str, float] = {
        **dict.fromkeys(first, 1.0),
        **dict.fromkeys(second, float(known.escalated[index])),
    }
    return MemberSet(
        (first, second) if second else (first,),
        float(known.accuracy[index]),
        float(known.latency_s[index]),
        max(m.latency_s for m in fast if m.name in first),
        float(known.mean_latency_s[index]),
        float(known.stop_margin[index]) if second else 0.0,
        shares,
    )


def _too_fast(constraint: Constraint, members: Sequence[Member]) -> ConstraintUnmet:
    if not members:
        return ConstraintUnmet("no member of the ensemble is available; try again once a worker holds one")
    fastest = min(members, key=lambda m: m.latency_s)
    return ConstraintUnmet(
        f"no member answers within {constraint.latency_s * 1e3:.1f} ms; the fastest, {fastest.name!r}, takes "
        f"{fastest.latency_s * 1e3:.1f} ms; allow more time"
    )


def _too_fast_on_average(constraint: Constraint, members: Sequence[Member]) -> ConstraintUnmet:
    assert constraint.mean_latency_s is not None
    fastest = min(members, key=lambda m: m.latency_s)
    return ConstraintUnmet(
        f"no members answer within {constraint.mean_latency_s * 1e3:.1f} ms on average; the fastest, "
        f"{fastest.name!r}, takes {fastest.latency_s * 1e3:.1f} ms; allow more time"
    )


def _unmet(constraint: Constraint, possible: float) -> ConstraintUnmet:
    assert constraint.accuracy is not None
    mean_s = constraint.mean_latency_s
    on_average = "" if mean_s is None else f" and {mean_s * 1e3:.1f} ms on average"
    return ConstraintUnmet(
        f"no members reach an accuracy of {constraint.accuracy:.4f} within {constraint.latency_s * 1e3:.1f} ms"
        f"{on_average}; at most {possible:.4f} is possible; ask for less, or allow more time"
    )
