"""A predictor for each machine type and degree of co-location (section 3.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.examples import Examples
from predictor.predictor import Prediction, SlowdownPredictor

LEAST_EXAMPLES = 2
"""From a single one there is nothing to learn, and boosted trees cannot."""

Cell = tuple[str, int]
"""A machine type and a degree."""


@dataclass(frozen=True)
class SeparatePredictors:
    """Asks the predictor of a configuration's machine type and degree, where there is none the nearest one.

    Nearest is the same machine type with the nearest degree, then any machine type with the nearest degree.
    """

    predictors: Mapping[Cell, SlowdownPredictor]

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        """See `SlowdownPredictor.predict`."""
        rows = sum(configuration.degree for configuration in configurations)
        slowdown, deviation = np.empty(rows), np.empty(rows)
        for cell, own, places in self._by_cell(configurations):
            made = self.predictors[cell].predict(own)
            slowdown[places], deviation[places] = made.slowdown, made.deviation
        return Prediction(slowdown, deviation)

    def slowdowns(self, configurations: Sequence[Configuration]) -> NDArray[np.float64]:
        """See `SlowdownPredictor.slowdowns`."""
        slowdown = np.empty(sum(configuration.degree for configuration in configurations))
        for cell, own, places in self._by_cell(configurations):
            slowdown[places] = self.predictors[cell].slowdowns(own)
        return slowdown

    def _by_cell(
        self, configurations: Sequence[Configuration]
    ) -> list[tuple[Cell, list[Configuration], NDArray[np.int64]]]:
        own: dict[Cell, list[Configuration]] = {}
        places: dict[Cell, list[int]] = {}
        row = 0
        for configuration in configurations:
            cell = self._nearest(configuration.machine, configuration.degree)
            own.setdefault(cell, []).append(configuration)
            places.setdefault(cell, []).extend(range(row, row + configuration.degree))
            row += configuration.degree
        return [(cell, own[cell], np.array(places[cell], dtype=np.int64)) for cell in own]

    def _nearest(self, machine: str, degree: int) -> Cell:
        return min(self.predictors, key=lambda cell: (cell[0] != machine, abs(cell[1] - degree), cell))


def fit_separate(examples: Examples, fit: Callable[[Examples], SlowdownPredictor]) -> SeparatePredictors:
    """One predictor by ``fit`` for each machine type and degree with `LEAST_EXAMPLES` at least.

    Where none has so many, one for all.
    """
    rows: dict[Cell, list[int]] = {}
    own: dict[Cell, list[Configuration]] = {}
    row = 0
    for configuration in examples.configurations:
        cell = configuration.machine, configuration.degree
        own.setdefault(cell, []).append(configuration)
        rows.setdefault(cell, []).extend(range(row, row + configuration.degree))
        row += configuration.degree
    enough = [cell for cell in own if len(rows[cell]) >= LEAST_EXAMPLES]
    if not enough:
        return SeparatePredictors({next(iter(own)): fit(examples)})
    return SeparatePredictors(
        {
            cell: fit(Examples(tuple(own[cell]), examples.slowdown[rows[cell]], examples.repeats[rows[cell]]))
            for cell in enough
        }
    )
