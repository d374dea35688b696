"""The seam of interference predictors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration


@dataclass(frozen=True)
class Prediction:
    """Slowdowns of all variants of the configurations asked for, one configuration after the other.

    A slowdown is mean latency together over mean latency alone; ``deviation`` is the standard deviation of the error
    that is to be expected. Both have the shape [variants of all configurations].
    """

    slowdown: NDArray[np.float64]
    deviation: NDArray[np.float64]


class SlowdownPredictor(Protocol):
    """Predicts what variants do to each other's latency on machines of one type.

    A pure function: the same configurations have the same prediction, and the order of variants within one does not
    matter. A variant alone has a slowdown of 1. Variants and machine types that it does not know have the fallback that
    docs/interference.md states; nothing is raised for them.
    """

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """The slowdown of each variant of each configuration, as in `Prediction`: fast enough for thousands of them."""
        ...

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        """The same with the deviations, which take longer."""
        ...
