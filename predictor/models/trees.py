"""Random forests and gradient boosting over features of configurations (section 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor, RandomForestRegressor

from predictor.configuration import Configuration
from predictor.examples import Examples
from predictor.features.tree_features import TreeFeatures
from predictor.kinds import FOREST
from predictor.predictor import Prediction
from predictor.variant_table import VariantTable

Array = NDArray[np.float64]

LEAST_SAMPLED = 4
"""Of fewer examples all are learned from: boosting leaves some out of each tree as well, and of so few there may be
none that neither leaves out."""


@dataclass(frozen=True)
class Trees:
    """Members that each learned from a sample of the examples, of the logarithm of slowdowns.

    What they say on average is the prediction, how far they disagree its deviation. ``ensemble`` is a fitted ensemble
    of scikit-learn with ``estimators_``.
    """

    features: TreeFeatures
    ensemble: Any

    def predict(self, configurations: Sequence[Configuration]) -> Prediction:
        """See `SlowdownPredictor.predict`."""
        if not configurations:  # scikit-learn refuses no rows
            return Prediction(np.empty(0), np.empty(0))
        rows = self.features.rows(configurations)
        logs = np.array([member.predict(rows) for member in self.ensemble.estimators_])
        alone = _alone(configurations)
        slowdown = np.where(alone, 1.0, np.exp(logs.mean(axis=0)))
        return Prediction(slowdown, np.where(alone, 0.0, np.exp(logs).std(axis=0)))

    def slowdowns(self, configurations: Sequence[Configuration]) -> Array:
        """See `SlowdownPredictor.slowdowns`."""
        if not configurations:
            return np.empty(0)
        logs = self.ensemble.predict(self.features.rows(configurations))
        return np.where(_alone(configurations), 1.0, np.exp(logs))


def fit_trees(
    examples: Examples,
    table: VariantTable,
    kind: str,
    *,
    columns: Sequence[str] | None = None,
    encodings: Mapping[str, tuple[float, ...]] | None = None,
    seed: int = 0,
) -> Trees:
    """A random forest, or boosted trees of which several learn from samples.

    ``columns`` are the metrics to go by, None takes all. Without ``encodings`` each machine type is a number of its
    own that is 1 there and 0 elsewhere (one-hot).
    """
    wanted = (*table.hardware_columns, *table.architecture_columns) if columns is None else tuple(columns)
    features = TreeFeatures(table, wanted, encodings or one_hot(examples))
    ensemble = _ensemble(kind, seed, len(examples.slowdown))
    weights = examples.repeats if kind == FOREST else None  # samples without repetition take no weights
    ensemble.fit(features.rows(examples.configurations), np.log(examples.slowdown), sample_weight=weights)
    return Trees(features, ensemble)


def one_hot(examples: Examples) -> dict[str, tuple[float, ...]]:
    """A number of its own for each machine type."""
    machines = sorted({configuration.machine for configuration in examples.configurations})
    return {machine: tuple(float(other == machine) for other in machines) for machine in machines}


def _ensemble(kind: str, seed: int, examples: int) -> Any:
    if kind == FOREST:
        return RandomForestRegressor(n_estimators=50, max_features=0.5, random_state=seed)
    boosted = GradientBoostingRegressor(
        n_estimators=200, max_depth=5, learning_rate=0.08, subsample=0.7, max_features=0.5, random_state=seed
    )
    sample = int(0.9 * examples) if examples >= LEAST_SAMPLED else examples
    return BaggingRegressor(boosted, n_estimators=5, max_samples=sample, bootstrap=False, random_state=seed)


def _alone(configurations: Sequence[Configuration]) -> NDArray[np.bool_]:
    return np.array([each.degree == 1 for each in configurations for _ in each.variants])
