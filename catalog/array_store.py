"""Arrays on disk under a key, for what takes long to compute."""

import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

SUFFIX = ".npz"


class ArrayStore:
    """One compressed ``.npz`` file per key in a folder. A file that cannot be read counts as absent.

    Several processes may use one folder: a reader sees a file whole or not at all.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> dict[str, NDArray[np.generic]] | None:
        """The arrays under ``key``; None where there are none. Nothing in a file is ever run."""
        path = self._path(key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except FileNotFoundError:
            return None
        except Exception as error:  # what zipfile and numpy raise over a corrupt file has no common base
            logger.warning("ignoring %s, which cannot be read: %s", path, error)
            return None

    def put(self, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Keep ``arrays`` under ``key``, in place of any before; a full or read-only disk is logged and no more."""
        path = self._path(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".saving-", dir=self._folder) as folder:
                written = Path(folder) / path.name
                np.savez_compressed(written, allow_pickle=False, **arrays)
                os.replace(written, path)
        except OSError as error:
            logger.warning("cannot keep arrays in %s: %s", path, error)

    def _path(self, key: str) -> Path:
        if not key.isalnum():
            raise ValueError(f"key {key!r}; use letters and digits")
        return self._folder / f"{key}{SUFFIX}"
