"""Low-rank updates of an encoder's matrices, and the weights that they make of the pretrained ones."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from catalog.zoo.sentiment.encoder_graph import Weights
from catalog.zoo.sentiment.pretrained import WEIGHTS
from catalog.zoo.sentiment.trained import Tensors

LINEAR = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""Linear maps of one layer, each of which is tuned."""

DOWN, UP = "down", "up"
"""Of a matrix W an update is up @ down, with ``down`` [rank, inputs] and ``up`` [outputs, rank]."""


def linear_names(layers: Iterable[int]) -> Iterator[str]:
    """Names of all linear maps of these layers, which are numbered from 0."""
    for layer in layers:
        for part in LINEAR:
            yield f"encoder.layer.{layer}.{part}"


def pretrained_weights(folder: Path) -> Weights:
    """The pretrained tensors, in single precision."""
    stored = load_file(folder / WEIGHTS)
    return {name: array.astype(np.float32) for name, array in stored.items() if array.dtype.kind == "f"}


def tuned_weights(pretrained: Weights, layers: Iterable[int], delta: Tensors) -> Weights:
    """Pretrained weights with the updates of ``delta`` added, and its head."""
    changed = {
        f"{name}.weight": pretrained[f"{name}.weight"]
        + delta[f"{name}.{UP}"].astype(np.float32) @ delta[f"{name}.{DOWN}"].astype(np.float32)
        for name in linear_names(layers)
    }
    head = {name: delta[name].astype(np.float32) for name in ("head.weight", "head.bias")}
    return {**pretrained, **changed, **head}
