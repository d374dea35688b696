"""What training leaves: small files that, with the pretrained weights, make the variants."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from catalog.errors import ArtifactError, ConfigError
from catalog.faults import describe
from catalog.zoo.sentiment.characters import MAX_CHARACTERS

INDEX = "trained.json"
VOTES = "votes.csv"
_FINGERPRINT = "trained_from"

Pooling = Literal["mean", "max", "first"]
Unit = Literal["token", "character"]
Tensors = dict[str, NDArray[Any]]


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TrainedVariant:
    """One variant; its tensors are in ``NAME.safetensors`` beside the index.

    ``accuracy`` is measured on the development file, which training never saw.
    """

    name: str
    accuracy: float = Field(ge=0.0, le=1.0)
    layers: tuple[int, ...] | None = None
    """Those of the encoder that it has, numbered from 0; None: a model over n-grams."""
    pooling: Pooling = "mean"
    unit: Unit = "token"
    """What n-grams are of."""
    normalised: bool = False
    """See `ngram_graph.NgramModel`."""


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TrainedTask:
    """All variants of one training; ``labels`` gives the class name of each index."""

    task: str
    labels: tuple[str, ...]
    max_length: int
    """Tokens after which a text is cut."""
    variants: tuple[TrainedVariant, ...]
    typical_length: int = 24
    """Tokens of a text of the training on average, as `estimated_tokens` has them."""

    def max_length_of(self, variant: TrainedVariant) -> int:
        """Tokens or characters after which a variant cuts a text."""
        return MAX_CHARACTERS if variant.unit == "character" else self.max_length


_TASK = TypeAdapter(TrainedTask)


@dataclass(frozen=True)
class TrainedFiles:
    """Reads and writes a folder of trained files."""

    folder: Path

    def read(self) -> TrainedTask:
        """The index; raises `ConfigError` where there is none or it is wrong."""
        file = self.folder / INDEX
        try:
            return _TASK.validate_json(file.read_bytes())
        except OSError as error:
            raise ConfigError(
                f"cannot read {file}: {error.strerror}; give the folder that "
                "`python -m catalog.zoo.sentiment.train --out FOLDER` wrote"
            ) from error
        except ValidationError as error:
            raise ConfigError(f"{file}: {describe(error, TrainedTask)}") from error

    def write(self, task: TrainedTask) -> None:
        """Write the index."""
        text = json.dumps(_TASK.dump_python(task, mode="json"), indent=1)
        (self.folder / INDEX).write_text(f"{text}\n", encoding="utf-8")

    def tensors(self, name: str) -> Tensors:
        """Tensors of a variant, in the precision in which they are kept; raises `ArtifactError`."""
        file = self._file(name)
        try:
            return dict(load_file(file))
        except Exception as error:  # safetensors raises its own kind
            raise ArtifactError(f"cannot read {file}: {error}; train again, or restore the file") from error

    def write_tensors(self, name: str, tensors: Tensors, fingerprint: str) -> None:
        """Keep tensors of a variant, floats in half precision, and what they were trained from: whole or not at all."""
        kept = {key: array.astype(np.float16) if array.dtype.kind == "f" else array for key, array in tensors.items()}
        with TemporaryDirectory(prefix=".saving-", dir=self.folder) as beside:
            written = Path(beside) / self._file(name).name
            tensors = {key: np.ascontiguousarray(array) for key, array in kept.items()}
            save_file(tensors, written, {_FINGERPRINT: fingerprint})
            os.replace(written, self._file(name))

    def fingerprint(self, name: str) -> str | None:
        """What the tensors of a variant were trained from; None where there are none that can be read."""
        if not self._file(name).exists():
            return None
        try:
            with safe_open(self._file(name), "numpy") as file:
                return (file.metadata() or {}).get(_FINGERPRINT)
        except (OSError, SafetensorError):
            return None

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"
