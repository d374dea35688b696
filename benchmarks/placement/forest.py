"""A forest that predicts slowdowns, trained on a synthetic law: as large as one in use, for times and not for errors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from predictor.configuration import Configuration
from predictor.predictor import Prediction

RESOURCES = 4
"""Metrics of a variant alone: what it uses of each resource."""
TREES, TRAINED_ON, DEEPEST = 50, 4000, 12


class ForestPredictor:
    """Predicts from a variant's metrics, the sum and the largest of its neighbours' and the machine type, one-hot."""

    def __init__(self, variants: Sequence[str], machines: Sequence[str], rng: np.random.Generator) -> None:
        self._variant = {variant: row for row, variant in enumerate(variants)}
        self._machine = {machine: column for column, machine in enumerate(machines)}
        self._metrics = rng.uniform(0.0, 1.0, (len(variants), RESOURCES))
        capacity = rng.uniform(1.0, 3.0, (len(machines), RESOURCES))
        names = np.array(variants)
        seen = [
            Configuration(str(rng.choice(machines)), tuple(rng.choice(names, rng.integers(2, 5)).tolist()))
            for _ in range(TRAINED_ON)
        ]
        features = self._features(seen)
        types = features[:, 3 * RESOURCES :].argmax(axis=1)
        use = features[:, :RESOURCES] + features[:, RESOURCES : 2 * RESOURCES]
        slowdown = np.maximum(use / capacity[types], 1.0).max(axis=1) * rng.lognormal(0.0, 0.02, len(use))
        self._forest = RandomForestRegressor(TREES, max_depth=DEEPEST, random_state=0, n_jobs=1).fit(features, slowdown)

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        """The mean of the trees, and their standard deviation left out: 0."""
        slowdown = self._forest.predict(self._features(configurations))
        return Prediction(slowdown, np.zeros_like(slowdown))

    def _features(self, configurations: Sequence[Configuration]) -> NDArray[np.float32]:
        """Shape [variants of all configurations, features]."""
        degree = np.array([len(each.variants) for each in configurations])
        own = self._metrics[[self._variant[variant] for each in configurations for variant in each.variants]]
        of = np.repeat(np.arange(len(degree)), degree)
        starts = np.cumsum(degree) - degree
        sums = np.add.reduceat(own, starts)[of] - own
        largest = np.maximum.reduceat(own, starts)[of]
        types = np.eye(len(self._machine))[[self._machine[each.machine] for each in configurations]][of]
        return np.hstack([own, sums, largest, types]).astype(np.float32)
