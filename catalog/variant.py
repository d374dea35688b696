"""One trained model that can do a task."""

from typing import Any

from pydantic import ConfigDict, Field, field_validator
from pydantic.dataclasses import dataclass

from catalog.tensor import TensorSpec

EMULATED = "emulated"
"""Name of the runtime that runs no model."""

STACKED = "stacked"
"""Name of the runtime that runs several variants one after the other, which vote."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Artifact:
    """Where the model is: a path relative to the catalogue file, or an fsspec URL, and its SHA-256.

    ``sha256`` of a folder is taken over its files (see `catalog.store.checksum`); None skips the check.
    """

    uri: str
    sha256: str | None = None

    @field_validator("sha256")
    @classmethod
    def _hex_digest(cls, value: str | None) -> str | None:
        if value is not None and (len(value) != 64 or set(value) - set("0123456789abcdef")):
            raise ValueError(f"sha256 {value!r} must be 64 lower-case hexadecimal digits")
        return value


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Variant:
    """A model that can answer queries of ``task``; variants of one task are interchangeable.

    ``accuracy`` is a ratio between 0 and 1, measured on data that the training never saw. ``labels`` gives
    the class name of each index, empty where there are none. ``max_batch`` bounds the rows of one run.
    ``options`` goes to the runtime as it is.
    """

    name: str
    task: str
    runtime: str
    artifact: Artifact
    accuracy: float = Field(ge=0.0, le=1.0)
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    outputs: tuple[TensorSpec, ...] = Field(min_length=1)
    labels: tuple[str, ...] = ()
    max_batch: int = Field(default=64, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def emulated(self) -> bool:
        """Whether it takes the time of a model and runs none, so that its answers mean nothing."""
        return self.runtime == EMULATED

    @property
    def accuracy_pct(self) -> float:
        """Accuracy in percent, as profiles in CSV print it."""
        return 100.0 * self.accuracy
