"""How accurate sets of members are, on votes that nothing else was learned from."""

import numpy as np
from numpy.typing import NDArray

from catalog.votes import RecordedVotes
from dispatch.ensemble.weights import ClassWeights


class Validation:
    """Weighted votes of any of the members on the rows of ``votes``, of which the weights must know nothing."""

    def __init__(self, votes: RecordedVotes, weights: ClassWeights) -> None:
        self.members = votes.members
        self._labels = votes.labels
        self._said = votes.predictions
        own = weights.matrix[votes.predictions, np.arange(len(self.members))].astype(np.float32)
        same = votes.predictions[:, :, None] == votes.predictions[:, None, :]
        self._brought = same * own[:, None, :]

    def accuracy(self, *members: str) -> float:
        """Share of rows that the vote of these gets right."""
        return float(self._right(self._chosen(members)).mean())

    def _right(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        sums = np.where(chosen, self._brought @ chosen.astype(np.float32), -1.0)
        leader = sums.argmax(axis=1)
        said: NDArray[np.bool_] = self._said[np.arange(len(leader)), leader] == self._labels
        return said

    def _chosen(self, members: tuple[str, ...]) -> NDArray[np.bool_]:
        return np.array([member in members for member in self.members])
