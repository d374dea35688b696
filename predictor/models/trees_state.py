"""Trees as arrays and JSON values, and back: no pickle, and nothing of the file is run."""

from collections.abc import Mapping
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from predictor.configuration import Configuration
from predictor.features.tree_features import TreeFeatures
from predictor.models.trees import Trees
from predictor.variant_table import VariantTable

TRUSTED = ("sklearn.tree._tree.Tree",)
"""Not of skops' own list, since a made-up one could point beyond its nodes: `_check` looks at that."""


def to_state(trees: Trees) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """All that `from_state` needs."""
    from skops.io import dumps

    table = trees.features.table
    values = {
        "columns": list(trees.features.columns),
        "encodings": {machine: list(numbers) for machine, numbers in trees.features.encodings.items()},
        "hardware": [[machine, variant, dict(own)] for (machine, variant), own in table.hardware.items()],
        "architecture": {variant: dict(own) for variant, own in table.architecture.items()},
    }
    return {"ensemble": np.frombuffer(dumps(trees.ensemble, compression=ZIP_DEFLATED), dtype=np.uint8)}, values


def from_state(arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> Trees:
    """The trees of `to_state`. Raises ValueError, KeyError or TypeError for what cannot be any."""
    from skops.io import get_untrusted_types, loads

    content = arrays["ensemble"].tobytes()
    unknown = set(get_untrusted_types(data=content)) - set(TRUSTED)
    if unknown:
        raise ValueError(f"the file holds {', '.join(sorted(unknown))}, which no predictor needs")
    ensemble = loads(content, trusted=list(TRUSTED))
    features = TreeFeatures(
        VariantTable({(machine, variant): own for machine, variant, own in values["hardware"]}, values["architecture"]),
        tuple(values["columns"]),
        {machine: tuple(numbers) for machine, numbers in values["encodings"].items()},
    )
    _check(ensemble, features.rows([Configuration("", ("",))]).shape[1])
    return Trees(features, ensemble)


def _check(ensemble: Any, features: int) -> None:
    """Raise ValueError where this is no ensemble for rows of so many features.

    Where a tree points to a node or a feature that is not there, or back, scikit-learn would read beyond its arrays, or
    without an end.
    """
    if not isinstance(ensemble, RandomForestRegressor | BaggingRegressor):
        raise ValueError(f"it holds a {type(ensemble).__name__}, which is no ensemble of trees")
    check_is_fitted(ensemble)
    for member in ensemble.estimators_:
        for tree in [member] if isinstance(member, DecisionTreeRegressor) else list(member.estimators_.ravel()):
            nodes = tree.tree_
            numbers = np.arange(nodes.node_count)
            left, right = nodes.children_left, nodes.children_right
            inner = left != -1
            forward = (left > numbers) & (right > numbers) & (left < len(numbers)) & (right < len(numbers))
            within = (nodes.feature >= 0) & (nodes.feature < features)
            if not ((forward & within) | ~inner).all() or not ((left == -1) == (right == -1)).all():
                raise ValueError("a tree of it points to nodes or features that are not there")
