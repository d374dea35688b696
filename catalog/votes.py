"""What every member of an ensemble said of the same labelled inputs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RecordedVotes:
    """``labels`` [rows] are the true classes and ``predictions`` [rows, members] what each member said, from 0."""

    members: tuple[str, ...]
    labels: Labels
    predictions: Labels
    classes: int
