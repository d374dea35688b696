"""A model as a catalogue entry describes it, put together from what its file says and what a trial gives."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from catalog.errors import ConfigError
from catalog.faults import describe
from catalog.tensor import DTYPES, TensorSpec
from deployments.runtimes.base import TRIAL_ROWS, Tensors, zeros

Axis = int | str | None
"""A size, or the name of an axis of any length; None where it has no name."""

Sizes = Mapping[str, int]
"""What axes of any length are fixed to, by name."""

OTHER_ROWS = TRIAL_ROWS + 1
"""Of a second trial: an output that had as many rows as the first by chance does not have as many as this one too."""

_DATATYPES = {dtype: name for name, dtype in DTYPES.items() if name != "BF16"}
"""BF16 has the dtype of FP32 here, which stands for it."""


@dataclass(frozen=True)
class Described:
    """The entry of a model, but for its name, task and accuracy.

    ``axes`` are the names of axes of any length, beside the batch, that the model itself has.
    """

    runtime: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    labels: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()


def datatype_of(path: Path, tensor: str, dtype: np.dtype[Any]) -> str:
    """The protocol's name of a dtype; raises `ConfigError` where it has none."""
    if dtype.kind in "US":
        return "BYTES"
    if dtype not in _DATATYPES:
        raise ConfigError(f"{path}: {tensor} is of dtype {dtype}, and may be {', '.join(map(str, _DATATYPES))}")
    return _DATATYPES[dtype]


def input_of(path: Path, name: str, datatype: str, axes: Sequence[Axis], sizes: Sizes) -> TensorSpec:
    """An input whose first axis is the batch; raises `ConfigError` that says how to export the model otherwise."""
    if not axes or isinstance(axes[0], int):
        fixed = "no axis" if not axes else f"a batch of {axes[0]} row(s)"
        raise ConfigError(
            f"{path}: input {name!r} has {fixed}, and queries are stacked along the first axis; export the model with "
            "a first axis of any length (torch: dynamic_shapes, ONNX: dynamic_axes)"
        )
    given = [sizes.get(axis, -1) if isinstance(axis, str) else -1 if axis is None else axis for axis in axes[1:]]
    free = [axis for axis, size in zip(axes[1:], given, strict=True) if size == -1]
    if free:
        named = [axis for axis in free if isinstance(axis, str)]
        fix = f"--size {named[0]}=64" if named else "a model that was exported with names for its axes, and --size"
        raise ConfigError(
            f"{path}: input {name!r} has {len(free)} axis or axes of any length beside the batch; fix them with {fix}, "
            "or write a catalogue with `lengths` by hand (docs/lengths.md)"
        )
    try:
        return TensorSpec(name, datatype, (-1, *given))
    except ValidationError as error:
        raise ConfigError(f"{path}, input {name!r}: {describe(error)}") from error


def named_axes(shapes: Iterable[Sequence[Axis]]) -> tuple[str, ...]:
    """Axes that sizes can fix, of inputs of these shapes."""
    return tuple(dict.fromkeys(axis for axes in shapes for axis in axes[1:] if isinstance(axis, str)))


def outputs_of(
    path: Path, run: Callable[[Tensors], Mapping[str, Any]], inputs: Sequence[TensorSpec]
) -> tuple[TensorSpec, ...]:
    """What a model gives for rows of zeros. Outputs without a row per query, or with nothing in it, are left out.

    Two trials of different numbers of rows tell. Raises `ConfigError`.
    """
    fixed = [TensorSpec(spec.name, spec.datatype, (-1, *(max(axis, 1) for axis in spec.item_shape))) for spec in inputs]
    given = _tried(path, run, fixed, TRIAL_ROWS)
    more = _tried(path, run, fixed, OTHER_ROWS)
    found = [
        _output(path, name, array)
        for name, array in given.items()
        if _has_rows(array, TRIAL_ROWS) and _has_rows(more[name], OTHER_ROWS)
    ]
    if not found:
        raise ConfigError(f"{path} gives {', '.join(given) or 'nothing'}, none with a row per query on its first axis")
    return tuple(found)


def _tried(
    path: Path, run: Callable[[Tensors], Mapping[str, Any]], inputs: Sequence[TensorSpec], rows: int
) -> dict[str, NDArray[Any]]:
    try:
        given = run({spec.name: zeros(spec, rows) for spec in inputs})
    except Exception as error:  # libraries raise their own kinds
        raise ConfigError(f"{path} fails on {rows} rows of zeros: {type(error).__name__}: {error}") from error
    return {name: np.asarray(array) for name, array in given.items()}


def _has_rows(array: NDArray[Any], rows: int) -> bool:
    return array.ndim > 0 and len(array) == rows and array.size > 0


def _output(path: Path, name: str, array: NDArray[Any]) -> TensorSpec:
    return TensorSpec(name, datatype_of(path, f"output {name!r}", array.dtype), (-1, *array.shape[1:]))
