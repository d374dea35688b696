"""What came out of a simulation, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.batch_log import Batches

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Record:
    """All queries by id, and the batches that ran; instants are seconds of virtual time.

    ``endpoint`` indexes the names in ``endpoints``; ``batch`` indexes the batches, -1 where the query was refused, or
    answered by several: ``answered_s`` says when these were, infinite for all others, and ``answered_accuracy`` has the
    accuracies, from 0 to 1.
    """

    endpoints: Sequence[str]
    arrival_s: Floats
    deadline_s: Floats
    endpoint: Indices
    batch: Indices
    batches: Batches
    answered_s: Floats | None = None
    answered_accuracy: Floats | None = None

    @property
    def done_s(self) -> Floats:
        """When each query's result was there; infinite where it was refused."""
        done_s = np.append(self.batches.done_s, np.inf)[self.batch]
        return done_s if self.answered_s is None else np.minimum(done_s, self.answered_s)

    @property
    def answered(self) -> Mask:
        """Whether each query was, in time or late."""
        return np.isfinite(self.done_s)

    @property
    def accuracy(self) -> Floats:
        """Of each query's answer, from 0 to 1; NaN where it was refused."""
        accuracy = np.append(self.batches.accuracy, np.nan)[self.batch]
        return (
            accuracy if self.answered_accuracy is None else np.where(self.batch < 0, self.answered_accuracy, accuracy)
        )
