"""A fitted forecaster as one file: arrays as safetensors, the rest as JSON in its header; loading runs no code."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays
from safetensors.numpy import save

from catalog.errors import ArtifactError, ConfigError
from forecast.forecaster import Forecaster
from forecast.registry import make
from forecast.training.task import ForecastTask

VERSION = 1
"""Of the layout below; a file of another version is refused."""

HEADER = "accord_forecaster"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class ModelCard:
    """What is known of a model beside its arrays. Instants are seconds since the epoch (UTC).

    It learned from the load of ``trained_from_s`` to ``trained_until_s`` in steps of ``step_s``, and had ``scores``
    (`forecast.training.scores.Scores`) on what came after, none where nothing was held out. ``created_s`` is 0 where
    nobody said. ``training`` has what else the trainer wants to be known.
    """

    name: str
    task: ForecastTask
    step_s: int
    trained_from_s: int
    trained_until_s: int
    created_s: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A fitted forecaster and its card."""

    forecaster: Forecaster
    card: ModelCard

    def to_bytes(self) -> bytes:
        """The file's content."""
        arrays, values = self.forecaster.state()
        header = {"version": VERSION, "card": asdict(self.card), "values": values}
        content: bytes = save(arrays, {HEADER: json.dumps(header)})
        return content

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; folders are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(self.to_bytes())
        partial.replace(path)


def load(path: Path) -> Model:
    """Read what `Model.save` wrote; raises `ArtifactError` where it cannot be had or is not such a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"cannot read the forecaster {path}: {error}; train one with `accord forecast train`"
        ) from error
    return loads(content, str(path))


def loads(content: bytes, where: str) -> Model:
    """The model of `Model.to_bytes`; ``where`` it came from is for people to read. Raises `ArtifactError`."""
    try:
        arrays: dict[str, NDArray[Any]] = read_arrays(content)
        metadata = _metadata(content)
    except (SafetensorError, KeyError, ValueError) as error:  # KeyError: a type of numbers that numpy has not
        raise ArtifactError(
            f"cannot read the forecaster {where}: {error}; train one with `accord forecast train`"
        ) from error
    if HEADER not in metadata:
        raise ArtifactError(f"{where} holds no forecaster of Accord; give a file that `accord forecast train` wrote")
    try:
        header = json.loads(metadata[HEADER])
        if header["version"] != VERSION:
            raise ArtifactError(
                f"{where} has version {header['version']!r} of the format, this Accord reads {VERSION}; train it anew"
            )
        described = dict(header["card"])
        card = ModelCard(**described | {"task": ForecastTask(**described["task"])})
        forecaster = make(card.name, card.task)
        forecaster.restore(arrays, header["values"])
    except (ConfigError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ArtifactError(f"the forecaster {where} is damaged ({error!r}); train it anew") from error
    return Model(forecaster, card)


def _metadata(content: bytes) -> dict[str, str]:
    """What stands beside the arrays: the file begins with the length of its header, little-endian in 8 bytes."""
    length = int.from_bytes(content[:8], "little")
    metadata: dict[str, str] = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return metadata
