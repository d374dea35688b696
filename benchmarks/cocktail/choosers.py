"""How each system names the members of a query. A query's accuracy tells which constraint it has."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from benchmarks.cocktail.models import MODELS
from dispatch.ensemble.member import Constraint, MemberSet
from dispatch.ensemble.scaling import ACCURACY_MARGIN, INTERVAL_S, IntervalVotes

Sets = Mapping[float, Sequence[MemberSet]]
"""By the accuracy that is asked for, the sets in the order in which they are preferred."""


class _Expected:
    """Expects of members the accuracy of the best of them, where not all of a set vote."""

    def accuracy(self, members: Sequence[str]) -> float:
        """See `MemberChooser.accuracy`."""
        return max(MODELS[name].accuracy for name in members)


class FixedChooser(_Expected):
    """The first set that is served whole; else what is served of the first that has any member left; else anybody.

    A query that asks for no accuracy, since nobody is there who could reach it, is served as the strictest.
    """

    def __init__(self, sets: Sets) -> None:
        self._sets = sets
        self._found: dict[tuple[float, Collection[str]], MemberSet] = {}

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """See `MemberChooser.choose`."""
        asked = constraint.accuracy or max(self._sets)
        key = (asked, served)
        if key not in self._found:
            self._found[key] = _served(self._sets[asked], served)
        return self._found[key]

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """Nothing is learned."""

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """Nothing is learned."""


class DroppingChooser(_Expected):
    """All members of the first set at first; after each interval one fewer or one more (Clipper-X, section 5.2.1).

    One that was right least often in an interval goes where the interval's accuracy is above the target, and the one
    that went last comes back where it is below. How many members agreed does not matter.
    """

    def __init__(self, sets: Sets, interval_s: float = INTERVAL_S) -> None:
        self._voting = {asked: list(own[0].members) for asked, own in sets.items()}
        self._dropped: dict[float, list[str]] = {asked: [] for asked in sets}
        self._first = {asked: own[0] for asked, own in sets.items()}
        self._seen = {asked: IntervalVotes() for asked in sets}
        self._until_s = dict.fromkeys(sets, interval_s)
        self._interval_s = interval_s

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """See `MemberChooser.choose`."""
        asked = constraint.accuracy or max(self._voting)
        if now_s >= self._until_s[asked]:
            self._scale(asked)
            self._until_s[asked] = now_s + self._interval_s
        return _served([_only(self._first[asked], self._voting[asked])], served)

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """Votes without a truth say nothing."""

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """See `MemberChooser.on_truth`."""
        if constraint.accuracy is not None:
            self._seen[constraint.accuracy].on_truth(truth, winner, votes)

    def _scale(self, asked: float) -> None:
        seen, voting, dropped = self._seen[asked], self._voting[asked], self._dropped[asked]
        self._seen[asked] = IntervalVotes()
        if seen.accuracy is None:
            return
        if seen.accuracy >= asked + ACCURACY_MARGIN and len(voting) > 1:
            worst = min(voting, key=lambda name: (seen.member_right[name] / max(seen.member_judged[name], 1), name))
            voting.remove(worst)
            dropped.append(worst)
        elif seen.accuracy < asked and dropped:
            voting.append(dropped.pop())


def _served(sets: Sequence[MemberSet], served: Collection[str]) -> MemberSet:
    for own in sets:
        if all(name in served for name in own.members):
            return own
    for own in sets:
        if left := [name for name in own.members if name in served]:
            return _only(own, left)
    there = [name for name in MODELS if name in served] or sets[0].members
    return _only(sets[0], [max(there, key=lambda name: MODELS[name].accuracy)])


def _only(own: MemberSet, names: Collection[str]) -> MemberSet:
    shares = dict.fromkeys(names, 1.0)
    return replace(own, waves=(tuple(names),), shares=shares)
