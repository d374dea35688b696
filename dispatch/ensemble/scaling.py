"""How many members vote from one interval to the next (Cocktail, section 4.1 and Algorithm 1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dispatch.ensemble.member import Member

INTERVAL_S = 30.0
"""Time between two changes of the set (Cocktail, section 6.3.1)."""

JUDGED_AT_LEAST = 30
"""Labels of so many rows in an interval say how accurate a vote or a member is; of fewer, chance does."""

ACCURACY_MARGIN = 0.002
"""Accuracy above the target from which members may go (Cocktail, section 4.1)."""


@dataclass
class IntervalVotes:
    """What the votes of one interval came to.

    ``majorities`` counts rows by how many members voted for the class that won, and ``confidence`` sums up how sure the
    votes were. ``right`` and ``judged`` count rows whose truth is known, which says something from `JUDGED_AT_LEAST`.
    """

    majorities: Counter[int] = field(default_factory=Counter)
    confidence: float = 0.0
    right: int = 0
    judged: int = 0
    member_right: Counter[str] = field(default_factory=Counter)
    member_judged: Counter[str] = field(default_factory=Counter)

    def on_vote(self, winner: int, votes: Mapping[str, int], confidence: float) -> None:
        """Members voted, and this class won, right with this probability if members were independent."""
        self.majorities[sum(said == winner for said in votes.values())] += 1
        self.confidence += confidence

    def on_truth(self, truth: int, winner: int, votes: Mapping[str, int]) -> None:
        """The true class of a row is known, and what was said of it."""
        self.judged += 1
        self.right += winner == truth
        for member, said in votes.items():
            self.member_judged[member] += 1
            self.member_right[member] += said == truth

    @property
    def accuracy(self) -> float | None:
        """Share of rows that the vote got right; the mean confidence, a proxy, where the truth of few is known.

        None where nobody voted.
        """
        if self.judged >= JUDGED_AT_LEAST:
            return self.right / self.judged
        rows = self.majorities.total()
        return self.confidence / rows if rows else None

    def member_accuracy(self, member: Member) -> float:
        """The member's in this interval, where it was judged often enough; else its own accuracy."""
        judged = self.member_judged[member.name]
        return self.member_right[member.name] / judged if judged >= JUDGED_AT_LEAST else member.accuracy


class MemberScaling:
    """Drops members while more agree than are needed, and takes one back when the accuracy falls.

    ``members`` are those that meet the latency; all vote at first. ``target`` is the accuracy to keep.
    """

    def __init__(self, members: Sequence[Member], target: float) -> None:
        if not members:
            raise ValueError("an ensemble needs at least one member")
        self.target = target
        self._members = {member.name: member for member in members}
        self._voting = list(self._members)

    @property
    def voting(self) -> tuple[str, ...]:
        """The members that vote now."""
        return tuple(self._voting)

    def on_interval(self, votes: IntervalVotes) -> tuple[str, ...]:
        """An interval has passed; gives the members that vote in the next one.

        Where most votes are won by more members than a majority needs, so many go: the least accurate of the interval
        first, of equals the one with the least packing factor. A majority of those that vote now stays, even where
        votes are of a larger set. An interval without a vote changes nothing.
        """
        accuracy = votes.accuracy
        if accuracy is None or not votes.majorities:
            return self.voting
        if accuracy >= self.target + ACCURACY_MARGIN:
            needed = len(self._voting) // 2 + 1
            usual, _ = max(votes.majorities.items(), key=lambda item: (item[1], item[0]))
            for _ in range(min(usual, len(self._voting)) - needed):
                self._voting.remove(min(self._voting, key=lambda name: self._rank(name, votes)))
        elif accuracy < self.target and (unused := [name for name in self._members if name not in self._voting]):
            self._voting.append(max(unused, key=lambda name: self._rank(name, votes)))
        return self.voting

    def _rank(self, name: str, votes: IntervalVotes) -> tuple[float, float, str]:
        member = self._members[name]
        return votes.member_accuracy(member), member.packing_factor, name
