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

WORTH = "worth"


def linear_names(layers: Iterable[int]) -> Iterator[str]:
    """Names of all linear maps of these layers, which are numbered from 0."""
    for layer in layers:
        for part in LINEAR:
            yield f"encoder.layer.{layer}.{part}"


def packed(delta: Tensors) -> Tensors:
    """The updates in 8 bits: whole numbers from -127 to 127 and, per rank, what one of them is worth."""
    kept = {}
    for name, array in delta.items():
        if name.endswith((f".{DOWN}", f".{UP}")):
            worth = np.abs(array).max(axis=_inner(name), keepdims=True) / 127
            kept[name] = np.rint(array / np.maximum(worth, 1e-12)).astype(np.int8)
            kept[f"{name}.{WORTH}"] = worth
        else:
            kept[name] = array
    return kept


def unpacked(kept: Tensors) -> Tensors:
    """What `packed` was given, nearly, in single precision."""
    floats = {name: array.astype(np.float32) for name, array in kept.items() if not name.endswith(f".{WORTH}")}
    return {
        name: array * kept[f"{name}.{WORTH}"].astype(np.float32) if f"{name}.{WORTH}" in kept else array
        for name, array in floats.items()
    }


def _inner(name: str) -> int:
    """The axis of an update's factor that is not the rank."""
    return 1 if name.endswith(f".{DOWN}") else 0


def pretrained_weights(folder: Path) -> Weights:
    """The pretrained tensors, in single precision."""
    stored = load_file(folder / WEIGHTS)
    return {name: array.astype(np.float32) for name, array in stored.items() if array.dtype.kind == "f"}


def tuned_weights(pretrained: Weights, layers: Iterable[int], delta: Tensors) -> Weights:
    """Pretrained weights with the updates of ``delta`` added, and its head; all in single precision."""
    changed = {
        f"{name}.weight": pretrained[f"{name}.weight"] + delta[f"{name}.{UP}"] @ delta[f"{name}.{DOWN}"]
        for name in linear_names(layers)
    }
    head = {name: delta[name] for name in ("head.weight", "head.bias")}
    return {**pretrained, **changed, **head}
