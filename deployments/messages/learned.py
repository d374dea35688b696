"""What routers learn of the members of ensembles, and tell each other through the controller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dispatch.ensemble.weights import VoteCounts


@dataclass(frozen=True)
class LearnedVotes:
    """What labels said of each member, as [3, classes]: rows seen, right and said, as `VoteCounts` has them.

    Two of them are added member by member; where numbers of classes differ the first one stays.
    """

    by_member: Mapping[str, NDArray[np.float64]]

    @classmethod
    def of(cls, members: Sequence[str], counts: VoteCounts) -> "LearnedVotes":
        """Counts of these members."""
        stacked = np.stack((counts.seen, counts.right, counts.said))
        return cls({member: stacked[:, :, column] for column, member in enumerate(members)})

    def counts(self, members: Sequence[str], classes: int) -> VoteCounts:
        """Counts of these members; of one that nothing is known of, none."""
        none = np.zeros((3, classes))
        own = [self.by_member.get(member, none) for member in members]
        stacked = np.stack([each if each.shape == none.shape else none for each in own], axis=2)
        return VoteCounts(*stacked)

    def __add__(self, other: "LearnedVotes") -> "LearnedVotes":
        added = dict(self.by_member)
        for member, theirs in other.by_member.items():
            own = added.get(member)
            if own is None:
                added[member] = theirs
            elif own.shape == theirs.shape:
                added[member] = own + theirs
        return LearnedVotes(added)
