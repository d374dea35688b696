"""A trained predictor as one file: arrays as safetensors, the rest as JSON in its header; loading runs no code."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.array_file import ArrayFile
from catalog.errors import ConfigError
from predictor.model_card import ModelCard
from predictor.models import gaussian_process_state, trees_state
from predictor.models.gaussian_process import GaussianProcess
from predictor.models.trees import Trees

VERSION = 1
"""Of the layout below; a file of another version is refused."""

FILE = ArrayFile("interference predictor", "accord interference train", "accord_interference", VERSION)


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
        return FILE.pack(arrays, {"described": described, "sha256": _digest(arrays, described)})

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
    return loads(FILE.read(path), str(path))


def loads(content: bytes, where: str) -> Model:
    """The model of `Model.to_bytes`; ``where`` it came from is for people to read. Raises `ArtifactError`."""
    arrays, header = FILE.unpack(content, where)
    try:
        if header["sha256"] != _digest(arrays, header["described"]):
            raise ValueError("its checksum does not fit its content")
        content_of = json.loads(header["described"])
        described = dict(content_of["card"])
        lists = {name: tuple(described[name]) for name in ("machines", "variants", "degrees")}
        card = ModelCard(**described | lists)
        states = gaussian_process_state if "points" in arrays else trees_state
        predictor = states.from_state(arrays, content_of["values"])
    except Exception as error:  # skops and scikit-learn have errors of their own for what is not theirs
        raise FILE.damaged(where, error) from error
    return Model(predictor, card)


def _digest(arrays: dict[str, NDArray[Any]], described: str) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
