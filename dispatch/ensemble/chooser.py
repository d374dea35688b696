"""The seam of member choice: who votes on the next query."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from dispatch.ensemble.member import Constraint, MemberSet
from dispatch.ensemble.scaling import INTERVAL_S, IntervalVotes, MemberScaling
from dispatch.ensemble.selector import MemberSelector

SCALED_AT_MOST = 64
"""Constraints whose sets are scaled by interval, each on its own; the one that was asked for longest ago goes."""


class MemberChooser(Protocol):
    """Names the members of each query, and hears what became of the votes.

    ``served`` are the members that some worker holds. `choose` raises `ConstraintUnmet` with what is possible.
    """

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """The members for a query with this constraint."""
        ...

    def accuracy(self, members: Sequence[str]) -> float:
        """What the vote of these members is worth, where others of a set did not vote."""
        ...

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """These members voted on a row of such a query, and this class won (see `Tally.confidence`)."""
        ...

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """The truth of such a row is known."""
        ...


class _Estimated:
    """Knows of accuracies what a selector estimates."""

    def __init__(self, selector: MemberSelector) -> None:
        self._selector = selector

    def accuracy(self, members: Sequence[str]) -> float:
        """See `MemberChooser.accuracy`."""
        return self._selector.accuracy(members)


class _Deaf(_Estimated):
    """Learns nothing of votes."""

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """See `MemberChooser.on_vote`."""

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """See `MemberChooser.on_truth`."""


class WavesChooser(_Deaf):
    """The cheapest set that meets the constraint, asked in two waves where that is cheaper: see `MemberSelector`."""

    name = "waves"

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """See `MemberChooser.choose`; without members that nobody holds, and those that remain where none is left.

        The accuracy is then that of a vote of all that remain.
        """
        chosen = self._selector.select(constraint)
        if all(name in served for name in chosen.members):
            return chosen
        waves = tuple(tuple(name for name in wave if name in served) for wave in chosen.waves)
        if not waves[0]:
            return self._selector.full(constraint, served)
        return replace(chosen, waves=waves, accuracy=self.accuracy([name for wave in waves for name in wave]))


class EveryoneChooser(_Deaf):
    """All members that are fast enough, as Clipper does."""

    name = "everyone"

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """See `MemberChooser.choose`."""
        return self._selector.full(constraint, served)


class IntervalChooser(_Estimated):
    """All members at first, and fewer or more from one interval to the next, for each constraint (Algorithm 1)."""

    name = "intervals"

    def __init__(self, selector: MemberSelector, interval_s: float = INTERVAL_S) -> None:
        super().__init__(selector)
        self._interval_s = interval_s
        self._scaled: dict[Constraint, _Scaled] = {}

    def choose(self, constraint: Constraint, served: Collection[str], now_s: float) -> MemberSet:
        """See `MemberChooser.choose`."""
        scaled = self._scaled.pop(constraint, None)
        if scaled is None:
            scaled = self._new(constraint, now_s)
        self._scaled[constraint] = scaled
        if now_s >= scaled.until_s:
            # First the state: what may raise is not to raise again with every query that follows.
            votes, scaled.votes, scaled.until_s = scaled.votes, IntervalVotes(), now_s + self._interval_s
            scaled.scaling.on_interval(votes)
        voting = [name for name in scaled.scaling.voting if name in served]
        # How many agree says how many may go: all are to be heard.
        return replace(self._selector.full(constraint, voting or served), wait_for_all=True)

    def on_vote(self, constraint: Constraint, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """See `MemberChooser.on_vote`."""
        if (scaled := self._scaled.get(constraint)) is not None:
            scaled.votes.on_vote(winner, votes, confidence)

    def on_truth(self, constraint: Constraint, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """See `MemberChooser.on_truth`."""
        if (scaled := self._scaled.get(constraint)) is not None:
            scaled.votes.on_truth(truth, winner, votes)

    def _new(self, constraint: Constraint, now_s: float) -> "_Scaled":
        if len(self._scaled) >= SCALED_AT_MOST:
            self._scaled.pop(next(iter(self._scaled)))
        full = self._selector.full(constraint)
        self._selector.check_accuracy(constraint, full)
        members = [member for member in self._selector.members if member.name in full.members]
        target = full.accuracy if constraint.accuracy is None else constraint.accuracy
        return _Scaled(MemberScaling(members, target), now_s + self._interval_s)


class _Scaled:
    """The set of one constraint, and what its present interval has seen."""

    def __init__(self, scaling: MemberScaling, until_s: float) -> None:
        self.scaling = scaling
        self.until_s = until_s
        self.votes = IntervalVotes()


CHOOSERS = {chooser.name: chooser for chooser in (WavesChooser, IntervalChooser, EveryoneChooser)}
"""Ways to choose members, by their names in a config."""
