"""What an emulated variant answers: what is recorded for the inputs, recorded rows round and round, or zeros."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from catalog.errors import ArtifactError, ConfigError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import Tensors


class EmulatedOutputs:
    """Outputs of a variant. ``recorded`` maps every output to an array of the same number of rows; None gives zeros.

    The next row to be answered gets the recorded row after the last one given. Where ``recorded`` has all inputs as
    well, a row gets what is recorded for the same inputs, and zeros (empty strings) where they are not there.
    """

    def __init__(self, variant: Variant, recorded: Tensors | None) -> None:
        self._variant = variant
        self._recorded = recorded
        self._next = 0
        self._row_of: dict[bytes, int] | None = None
        if recorded is not None and recorded.keys() >= {spec.name for spec in variant.inputs}:
            self._row_of = {key: row for row, key in enumerate(self._keys(recorded))}

    def rows(self, inputs: Tensors) -> Tensors:
        """Outputs for the rows of ``inputs``, arrays of their own."""
        count = len(next(iter(inputs.values())))
        length = base.batch_length(self._variant, inputs)
        zeros = {spec.name: base.zeros(spec, count, length) for spec in self._variant.outputs}
        if self._recorded is None:
            return zeros
        if self._row_of is not None:
            found = np.array([self._row_of.get(key, -1) for key in self._keys(inputs)])
            for name, array in zeros.items():
                array[found >= 0] = self._recorded[name][found[found >= 0]]
            return zeros
        length = len(next(iter(self._recorded.values())))
        picked = (self._next + np.arange(count)) % length
        self._next = (self._next + count) % length
        return {name: self._recorded[name][picked] for name in zeros}

    def _keys(self, tensors: Tensors) -> list[bytes]:
        """One for each row, the same for the same inputs."""
        columns = [np.asarray(tensors[spec.name]) for spec in self._variant.inputs]
        return [b"".join(map(_key, rows)) for rows in zip(*columns, strict=True)]


def _key(row: Any) -> bytes:
    """Of one row of an input: its numbers, -0.0 as 0.0, or its texts with their lengths."""
    array = np.asarray(row)
    if array.dtype.kind not in "OSU":
        return np.ascontiguousarray(array + 0).tobytes()
    texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.ravel()]
    return b"".join(b"%d:%b" % (len(text), text) for text in texts)


def read_recorded(variant: Variant, path: Path) -> Tensors:
    """Recorded outputs of a ``.npz`` file, with inputs where it has all of them.

    Raises `ConfigError` where they are not what the variant gives and takes. Strings (BYTES) are recorded as numpy
    strings, since object arrays are not read; such inputs are not.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except OSError as error:
        raise ConfigError(
            f"variant {variant.name!r}: cannot read outputs {path}: {error.strerror}; give a .npz file, relative to "
            "the folder of the artifact"
        ) from error
    except (ValueError, TypeError, BadZipFile, EOFError) as error:  # TypeError: a .npy file of another name
        raise ConfigError(
            f"variant {variant.name!r}: outputs {path}: {error}; write them with numpy.savez, without object arrays"
        ) from error
    inputs = _inputs_of(variant, arrays)
    recorded = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in arrays.items()}
    given = {**recorded, **inputs}
    lengths = {name: array.shape[0] if array.shape else 0 for name, array in given.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ConfigError(
            f"variant {variant.name!r}: outputs {path} have {lengths or 'no arrays'} rows; give every output the same "
            "number of rows, at least one"
        )
    try:
        base.check_outputs(variant, recorded, next(iter(lengths.values())))
    except ArtifactError as error:
        raise ConfigError(f"outputs {path} are not those of the catalogue: {error}") from error
    return given


def _inputs_of(variant: Variant, arrays: Tensors) -> Tensors:
    """Takes the variant's inputs out of ``arrays``, where all of them are there, in the types that it takes them in."""
    names = {spec.name for spec in variant.inputs}
    if not arrays.keys() >= names or names & {spec.name for spec in variant.outputs}:
        return {}
    return {spec.name: arrays.pop(spec.name).astype(spec.dtype, copy=False) for spec in variant.inputs}
