"""Files of trained things: arrays as safetensors, with JSON in the header; reading runs no code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save

from catalog.errors import ArtifactError

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ArrayFile:
    """One kind of such files: ``what`` is in it, the ``command`` that writes it, the key and version of its header."""

    what: str
    command: str
    key: str
    version: int

    def pack(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> bytes:
        """The content of a file."""
        content: bytes = save(dict(arrays), {self.key: json.dumps({"version": self.version, **header})})
        return content

    def read(self, path: Path) -> bytes:
        """The content of the file there; raises `ArtifactError`."""
        try:
            return path.read_bytes()
        except OSError as error:
            raise self._unreadable(str(path), error) from error

    def unpack(self, content: bytes, where: str) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and header of `pack`; ``where`` they came from is for people to read.

        Raises `ArtifactError` for what is no such file, or one of another version.
        """
        try:
            arrays: Arrays = read_arrays(content)
            metadata = _metadata(content)
        except (SafetensorError, KeyError, ValueError) as error:  # KeyError: a type of numbers that numpy has not
            raise self._unreadable(where, error) from error
        if self.key not in metadata:
            raise ArtifactError(f"{where} holds no {self.what} of Accord; give a file that `{self.command}` wrote")
        try:
            header = dict(json.loads(metadata[self.key]))
            version = header.pop("version")
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(where, error) from error
        if version != self.version:
            raise ArtifactError(
                f"{where} has version {version!r} of the format, this Accord reads {self.version}; train it anew"
            )
        return arrays, header

    def _unreadable(self, where: str, error: Exception) -> ArtifactError:
        return ArtifactError(f"cannot read the {self.what} {where}: {error}; train one with `{self.command}`")

    def damaged(self, where: str, error: Exception) -> ArtifactError:
        """The error of a file whose content does not fit together."""
        return ArtifactError(f"the {self.what} {where} is damaged ({error!r}); train it anew")


def _metadata(content: bytes) -> dict[str, str]:
    """What stands beside the arrays: the file begins with the length of its header, little-endian in 8 bytes."""
    length = int.from_bytes(content[:8], "little")
    metadata: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return metadata
