"""A trained predictor as one file: arrays as safetensors, the rest as JSON in its header; loading runs no code."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save

from catalog.errors import ArtifactError, ConfigError
from predictor.model_card import ModelCard
from predictor.models import gaussian_process_state, trees_state
from predictor.models.gaussian_process import GaussianProcess
from predictor.models.trees import Trees

VERSION = 1
"""Of the layout below; a file of another version is refused."""

HEADER = "accord_interference"


@dataclass(frozen=True)
class Model:
    """A trained predictor (`predictor.predictor.SlowdownPredictor`) and its card."""

    predictor: GaussianProcess | Trees
    card: ModelCard

    def to_bytes(self) -> bytes:
        """The file's content."""
        states = gaussian_process_state if isinstance(self.predictor, GaussianProcess) else trees_state
        arrays, values = states.to_state(self.predictor)
        described = json.dumps({"card": asdict(self.card), "values": values})
        header = {"version": VERSION, "described": described, "sha256": _digest(arrays, described)}
        content: bytes = save(arrays, {HEADER: json.dumps(header)})
        return content

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; folders are made. Raises `ConfigError` where that cannot be."""
        content = self.to_bytes()
        partial = path.with_name(path.name + ".partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            partial.replace(path)
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}; make room, or give another path") from error


def load(path: Path) -> Model:
    """Read what `Model.save` wrote; raises `ArtifactError` where it cannot be had or is not such a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"cannot read the interference predictor {path}: {error}; train one with `accord interference train`"
        ) from error
    return loads(content, str(path))


def loads(content: bytes, where: str) -> Model:
    """The model of `Model.to_bytes`; ``where`` it came from is for people to read. Raises `ArtifactError`."""
    try:
        arrays: dict[str, NDArray[Any]] = read_arrays(content)
        metadata = _metadata(content)
    except (SafetensorError, KeyError, ValueError) as error:  # KeyError: a type of numbers that numpy has not
        raise ArtifactError(
            f"cannot read the interference predictor {where}: {error}; train one with `accord interference train`"
        ) from error
    if HEADER not in metadata:
        raise ArtifactError(
            f"{where} holds no interference predictor of Accord; give a file that `accord interference train` wrote"
        )
    try:
        header = json.loads(metadata[HEADER])
        if header["version"] != VERSION:
            raise ArtifactError(
                f"{where} has version {header['version']!r} of the format, this Accord reads {VERSION}; train it anew"
            )
        if header["sha256"] != _digest(arrays, header["described"]):
            raise ValueError("its checksum does not fit its content")
        content_of = json.loads(header["described"])
        described = dict(content_of["card"])
        lists = {name: tuple(described[name]) for name in ("machines", "variants", "degrees")}
        card = ModelCard(**described | lists)
        states = gaussian_process_state if "points" in arrays else trees_state
        predictor = states.from_state(arrays, content_of["values"])
    except ArtifactError:
        raise
    except Exception as error:  # skops and scikit-learn have errors of their own for what is not theirs
        raise ArtifactError(f"the interference predictor {where} is damaged ({error!r}); train it anew") from error
    return Model(predictor, card)


def _digest(arrays: dict[str, NDArray[Any]], described: str) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _metadata(content: bytes) -> dict[str, str]:
    """What stands beside the arrays: the file begins with the length of its header, little-endian in 8 bytes."""
    length = int.from_bytes(content[:8], "little")
    metadata: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return metadata
