"""Columns of a table to the tensors of a task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from catalog.errors import BadRequest, ConfigError
from catalog.lengths import LengthRule
from catalog.tensor import Arrays, TensorSpec
from catalog.variant import Variant

LABEL = "label"
LABELS = "labels"
"""Another name for the array with the truth, which the load generator's files use."""

Column = Sequence[Any] | NDArray[Any]

TRUE, FALSE = ("true", "1"), ("false", "0")


def label_column(table: Mapping[str, Column], label: str, path: Path) -> str:
    """The column with the truth: ``label``, or `LABELS` for the default; raises `ConfigError` where there is none."""
    if label in table:
        return label
    if label == LABEL and LABELS in table:
        return LABELS
    given = ", ".join(table) or "no columns"
    raise ConfigError(f"{path} has no column {label!r} with the truth; it has {given}; name it with --label")


def stacked(
    table: Mapping[str, Column], variant: Variant, label: str, columns: Mapping[str, str], path: Path
) -> tuple[Arrays, NDArray[Any]]:
    """The inputs and the labels of a table, by the names of its columns; raises `ConfigError` naming what is wrong.

    A column of one value per cell is an input of shape [-1]; one with more axes is a list per cell, in CSV as JSON.
    Rows of any length are padded to the longest of them, and may come without a mask.
    """
    rule = variant.length_rule
    optional = frozenset[str]() if rule is None else rule.optional
    required = [spec for spec in variant.inputs if spec.name not in optional]
    known = {spec.name for spec in variant.inputs}
    if wrong := sorted(set(columns) - known):
        raise ConfigError(f"--column {wrong[0]}=...: no such input; task {variant.task!r} takes {', '.join(known)}")
    labels = _labels(table[label], variant.labels, label, path)
    if not len(labels):
        raise ConfigError(f"{path} has no rows; give at least one")
    others = [name for name in table if name != label and name not in optional]
    inputs: Arrays = {}
    parts: dict[str, list[NDArray[Any]]] = {}
    for spec in variant.inputs:
        column = columns.get(spec.name, spec.name)
        if column not in table and [spec] == required and len(others) == 1 and not columns:
            column = others[0]
        if column not in table and spec.name in optional and spec.name not in columns:
            continue
        if column not in table:
            raise ConfigError(
                f"{path} has no column {column!r} for input {spec.name!r}; it has {', '.join(table)}; say "
                f"--column {spec.name}=COLUMN"
            )
        if spec.length_axis is None:
            inputs[spec.name] = as_tensor(spec, table[column], column, path)
        else:
            parts[spec.name] = _parts(spec, table[column], column, path)
    if rule is not None and parts:
        inputs |= _padded(parts, rule, path)
    sizes = {name: len(array) for name, array in {**inputs, label: labels}.items()}
    if len(set(sizes.values())) != 1:
        raise ConfigError(f"{path}: every input and the labels need the same number of rows; it has {sizes}")
    return inputs, labels


def _parts(spec: TensorSpec, column: Column, name: str, path: Path) -> list[NDArray[Any]]:
    """A column of any length as arrays [rows, *item shape]: an array is one, of a list every row is one."""
    if isinstance(column, np.ndarray):
        return [as_tensor(spec, column, name, path)]
    return [as_tensor(spec, [cell], name, path, row) for row, cell in enumerate(column, start=1)]


def _padded(parts: Mapping[str, Sequence[NDArray[Any]]], rule: LengthRule, path: Path) -> Arrays:
    """The inputs of any length, by name in parts, as the router stacks queries that have a part each."""
    given = [dict(zip(parts, own, strict=True)) for own in zip(*parts.values(), strict=True)]
    for row, own in enumerate(given, start=1):
        try:
            rule.check(own)
        except BadRequest as error:
            raise ConfigError(f"{path}{f', row {row}' if len(given) > 1 else ''}: {error}") from error
    return rule.padded(given)


def as_tensor(spec: TensorSpec, column: Column, name: str, path: Path, row: int | None = None) -> NDArray[Any]:
    """The column as an array [rows, *item shape] of the input's type; of one ``row`` where it says which."""
    where = f"{path}, column {name!r}" if row is None else f"{path}, row {row}, column {name!r}"
    try:
        array = _texts(column, spec, row or 1) if spec.datatype == "BYTES" else _numbers(column, spec)
    except (ValueError, TypeError, orjson.JSONDecodeError) as error:
        same = "; all rows need the same number of values" if row is None else ""
        raise ConfigError(f"{where}: not one {spec.datatype} {list(spec.shape)} per row ({error}){same}") from error
    wanted = spec.shape[1:]
    fits = array.ndim == len(spec.shape) and all(
        want in (-1, axis) for want, axis in zip(wanted, array.shape[1:], strict=True)
    )
    if not fits and array.ndim >= 1 and -1 not in wanted and array.size == len(array) * spec.item_size:
        return array.reshape(len(array), *wanted)  # a list per cell that is flat
    if not fits:
        raise ConfigError(f"{where} is {list(array.shape)}; input {spec.name!r} is {list(spec.shape)}")
    return array


def _texts(column: Column, spec: TensorSpec, first_row: int) -> NDArray[Any]:
    """As many axes as the column has; a text that comes as bytes is UTF-8, a number is written out.

    Errors count rows from ``first_row`` on.
    """
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    several = len(spec.shape) > 1
    array = np.array([orjson.loads(each) if several and isinstance(each, str) else each for each in cells], object)
    for index, each in np.ndenumerate(array):
        text = each.decode() if isinstance(each, bytes) else each
        if not isinstance(text, str | int | float):
            raise ValueError(f"row {index[0] + first_row} has {each!r}, which is no text")
        array[index] = str(text)
    return array


def _numbers(column: Column, spec: TensorSpec) -> NDArray[Any]:
    values = column if isinstance(column, np.ndarray) else [_value(each, spec) for each in column]
    array = np.asarray(values)
    if not np.can_cast(array.dtype, spec.dtype, "same_kind") and array.dtype.kind not in "iuf":
        raise ValueError(f"{array.dtype} does not fit {spec.datatype}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast: NDArray[Any] = array.astype(spec.dtype)
    if spec.dtype.kind in "iub":  # 2 and 0.7 are neither true nor false
        wrong = cast != array
    elif spec.allow_nan:
        wrong = np.isfinite(array) & ~np.isfinite(cast)
    else:
        wrong = ~np.isfinite(cast)
    if wrong.any():
        raise ValueError(f"{array[wrong].flat[0]} does not fit {spec.datatype}")
    return cast


def _value(cell: Any, spec: TensorSpec) -> Any:
    if not isinstance(cell, str):
        return cell
    if len(spec.shape) > 1:
        return orjson.loads(cell)
    if spec.datatype == "BOOL":
        word = cell.strip().lower()
        if word not in TRUE + FALSE:
            raise ValueError(f"{cell!r} is neither true nor false")
        return word in TRUE
    return float(cell) if spec.dtype.kind == "f" else int(cell)


def _labels(column: Column, classes: Sequence[str], name: str, path: Path) -> NDArray[Any]:
    """Names where all of them are names of ``classes``, which may be digits; else whole numbers or values where all
    are."""
    if isinstance(column, np.ndarray):
        if column.ndim == 0:
            raise ConfigError(f"{path}, array {name!r} is one value, {column}; give a label per row")
        return column
    if all(isinstance(each, str) for each in column) and not set(column) <= set(classes):
        for kind in (int, float):
            try:
                return np.array([kind(each) for each in column])
            except ValueError:
                continue
    try:
        return np.array(list(column))
    except ValueError as error:  # lists of different lengths
        raise ConfigError(
            f"{path}, column {name!r}: not the same number of labels in each row ({error}); give one class or value "
            "per row, or name another column with --label"
        ) from error
