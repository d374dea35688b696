"""How accurate sets of members are, on votes that nothing else was learned from."""

import numpy as np

from benchmarks.cocktail.models import MODELS
from catalog.votes import RecordedVotes
from dispatch.ensemble.weights import ClassWeights

TIMED_ROWS, SEED = 2000, 23
"""Where times are estimated."""


class Validation:
    """Weighted votes of any of the members on the rows of ``votes``, of which the weights must know nothing."""

    def __init__(self, votes: RecordedVotes, weights: ClassWeights) -> None:
        self.members = votes.members
        self._largest = np.array(weights.largest)
        said = votes.predictions.T
        self._said = said
        self._right = said == votes.labels
        columns = np.arange(len(self.members))
        own = weights.matrix[said, columns[:, None]]
        same = said[:, None, :] == said[None, :, :]
        against = weights.against[said[:, None, :], columns[None, :, None]]
        self._brought = np.where(same, own[None, :, :], against).astype(np.float32)
        """[members, members, rows]: what the second member brings to the class that the first one names."""

    def accuracy(self, *members: str) -> float:
        """Share of rows that the vote of these gets right; of classes that lead together, the first member's."""
        chosen = [self.members.index(name) for name in members]
        most = np.full(self._right.shape[1], -np.inf, dtype=np.float32)
        right = np.zeros(self._right.shape[1], dtype=np.bool_)
        for column in chosen:
            total = self._brought[column, chosen].sum(axis=0)
            leads = total > most
            most = np.maximum(most, total)
            right = np.where(leads, self._right[column], right)
        return float(right.mean())

    def decided_s(self, *members: str) -> float:
        """Mean time until the vote of these can no longer change, on machines that are never idle.

        A job then waits for up to a whole batch before its own: each member answers between its latency and twice that.
        """
        columns = [self.members.index(name) for name in members]
        said = self._said[columns, :TIMED_ROWS].T
        brought = np.moveaxis(self._brought[np.ix_(columns, columns)][:, :, :TIMED_ROWS], 2, 0)
        latency_s = np.array([MODELS[name].latency_s for name in members])
        rng = np.random.default_rng(SEED)
        answer_s = latency_s * (1.0 + rng.random((len(said), len(members))))
        rows = np.arange(len(said))
        decided_s = np.full(len(said), np.inf)
        for number in range(len(members)):  # the answers up to this one's are there
            at_s = answer_s[:, number]
            there = answer_s <= at_s[:, None]
            sums = np.where(there, (brought * there[:, None, :]).sum(axis=2), -np.inf)
            leader = sums.argmax(axis=1)
            rival = np.where(said == said[rows, leader][:, None], 0.0, np.maximum(sums, 0.0)).max(axis=1)
            to_come = (~there * self._largest[columns]).sum(axis=1)
            decided = (sums[rows, leader] - rival > to_come) | there.all(axis=1)
            decided_s = np.where(decided, np.minimum(decided_s, at_s), decided_s)
        return float(decided_s.mean())
