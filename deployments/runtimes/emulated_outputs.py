"""What an emulated variant answers: recorded rows round and round, or zeros."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from catalog.errors import ArtifactError, ConfigError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import Tensors


class EmulatedOutputs:
    """Outputs of a variant by number of rows. ``recorded`` maps every output to an array of the same number of rows.

    The next row to be answered gets the recorded row after the last one given; with None all rows are zeros, and empty
    strings.
    """

    def __init__(self, variant: Variant, recorded: Tensors | None) -> None:
        self._variant = variant
        self._recorded = recorded
        self._next = 0

    def rows(self, count: int) -> Tensors:
        """Outputs of ``count`` rows, arrays of their own."""
        if self._recorded is None:
            return {spec.name: base.zeros(spec, count) for spec in self._variant.outputs}
        length = len(next(iter(self._recorded.values())))
        picked = (self._next + np.arange(count)) % length
        self._next = (self._next + count) % length
        return {name: array[picked] for name, array in self._recorded.items()}


def read_recorded(variant: Variant, path: Path) -> Tensors:
    """Recorded outputs of a ``.npz`` file; raises `ConfigError` where they are not what the variant gives.

    Strings (BYTES) are recorded as numpy strings, since object arrays are not read.
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
    recorded = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in arrays.items()}
    lengths = {name: array.shape[0] if array.shape else 0 for name, array in recorded.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ConfigError(
            f"variant {variant.name!r}: outputs {path} have {lengths or 'no arrays'} rows; give every output the same "
            "number of rows, at least one"
        )
    try:
        base.check_outputs(variant, recorded, next(iter(lengths.values())))
    except ArtifactError as error:
        raise ConfigError(f"outputs {path} are not those of the catalogue: {error}") from error
    return recorded
