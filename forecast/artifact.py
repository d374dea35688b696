"""A fitted forecaster as one file: arrays as safetensors, the rest as JSON in its header; loading runs no code."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from catalog.array_file import ArrayFile
from catalog.errors import ConfigError
from forecast.forecaster import Forecaster
from forecast.registry import make
from forecast.training.task import ForecastTask

VERSION = 1
"""Of the layout below; a file of another version is refused."""

SUFFIX = ".safetensors"
FILE = ArrayFile("forecaster", "accord forecast train", "accord_forecaster", VERSION)


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
        return FILE.pack(arrays, {"card": asdict(self.card), "values": values})

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; folders are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(self.to_bytes())
        partial.replace(path)


def load(path: Path) -> Model:
    """Read what `Model.save` wrote; raises `ArtifactError` where it cannot be had or is not such a file."""
    return loads(FILE.read(path), str(path))


def loads(content: bytes, where: str) -> Model:
    """The model of `Model.to_bytes`; ``where`` it came from is for people to read. Raises `ArtifactError`."""
    arrays, header = FILE.unpack(content, where)
    try:
        described = dict(header["card"])
        card = ModelCard(**described | {"task": ForecastTask(**described["task"])})
        forecaster = make(card.name, card.task)
        forecaster.restore(arrays, header["values"])
    except (ConfigError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FILE.damaged(where, error) from error
    return Model(forecaster, card)
