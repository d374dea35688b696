"""A .npz file as inputs of an endpoint and true labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from catalog.labelled.columns import LABEL, LABELS, as_tensor
from catalog.tensor import Arrays, TensorSpec


def read_npz(path: Path, inputs: Sequence[TensorSpec] = ()) -> tuple[Arrays, NDArray[Any] | None]:
    """The inputs by name, and the labels: array ``label``, else ``labels``, None where the file has neither.

    Where the ``inputs`` of the endpoint are known, only these are taken, of their datatype and shape as
    `accord evaluate` has them; else all arrays but the labels. Raises `ConfigError` naming what is wrong, and OSError.
    """
    table = _arrays(path)
    known = {spec.name for spec in inputs}
    names = [name for name in (LABEL, LABELS) if name in table and name not in known]
    labels = table[names[0]] if names else None
    others = {name: array for name, array in table.items() if name not in names}
    columns = _columns(others, inputs, path) if inputs else {name: name for name in others}
    chosen = {name: others[column] for name, column in columns.items()}
    counts = {name: array.shape[:1] for name, array in {**chosen, "labels": labels}.items() if array is not None}
    if not chosen or len(set(counts.values())) != 1 or () in counts.values():
        sizes = ", ".join(f"{name} {list(shape)}" for name, shape in counts.items()) or "no arrays"
        raise ConfigError(
            f"data set {path}: all arrays need the same number of items on their first axis; it has {sizes}"
        )
    for spec in inputs:
        if spec.name in chosen:
            # Whether an endpoint takes NaN its metadata does not say: that is left to the endpoint.
            chosen[spec.name] = as_tensor(replace(spec, allow_nan=True), chosen[spec.name], columns[spec.name], path)
    return chosen, labels


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, TypeError, BadZipFile, EOFError) as error:  # TypeError: a .npy file of another name
        raise ConfigError(f"data set {path}: {error}; write it with numpy.savez, without object arrays") from error


def _columns(arrays: Mapping[str, NDArray[Any]], inputs: Sequence[TensorSpec], path: Path) -> dict[str, str]:
    """By input the array that holds it: the one of its name, or the only one for the only input.

    Masks may be missing, and metadata do not say which input is one: of several inputs of any length one may be left
    out, and the endpoint says where it needs it.
    """
    if len(inputs) == len(arrays) == 1:
        return {inputs[0].name: next(iter(arrays))}
    found = {spec.name: spec.name for spec in inputs if spec.name in arrays}
    of_any_length = any(spec.length_axis is not None for spec in inputs if spec.name in found)
    for spec in inputs:
        if spec.name not in found and not (spec.length_axis is not None and of_any_length):
            given = ", ".join(arrays) or "no arrays"
            raise ConfigError(
                f"data set {path} has no array {spec.name!r}; the endpoint takes it as {spec.datatype} "
                f"{list(spec.shape)}, and the file has {given}"
            )
    return found
