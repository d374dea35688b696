"""One trained model that can do a task."""

from dataclasses import replace
from typing import Any

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator
from pydantic.dataclasses import dataclass

from catalog.errors import ConfigError
from catalog.evaluation.measured import AccuracyOrigin, AccuracySource, Measured
from catalog.lengths import LengthRule, Lengths
from catalog.tensor import TensorSpec

EMULATED = "emulated"
"""Name of the runtime that runs no model."""

STACKED = "stacked"
"""Name of the runtime that runs several variants one after the other, which vote."""

PYTHON = "python"
"""Name of the runtime that runs a class of the user's."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Artifact:
    """Where the model is: a path relative to the catalogue file, or an fsspec URL, and its SHA-256.

    ``sha256`` of a folder is taken over its files (see `catalog.store.checksum`); None skips the check. A class of the
    user's is named by ``import``, as ``module:Class``, instead of a ``uri`` (`catalog.user_code`), with the bytes of
    memory that it takes once it is set up, where that is to be known before.
    """

    uri: str = ""
    sha256: str | None = None
    import_path: str | None = Field(
        default=None, validation_alias=AliasChoices("import", "import_path"), serialization_alias="import"
    )
    memory_bytes: int | None = Field(default=None, ge=0)

    @field_validator("sha256")
    @classmethod
    def _hex_digest(cls, value: str | None) -> str | None:
        if value is not None and (len(value) != 64 or set(value) - set("0123456789abcdef")):
            raise ValueError(f"sha256 {value!r} must be 64 lower-case hexadecimal digits")
        return value

    @model_validator(mode="after")
    def _file_or_class(self) -> "Artifact":
        if self.import_path is None:
            if self.memory_bytes is not None:
                raise ValueError("memory_bytes goes with import alone; the size of files is known")
            return self
        if self.uri or self.sha256 is not None:
            raise ValueError(
                f"import {self.import_path!r} names a class and uri or sha256 a file; give one. A class opens its "
                "files itself, beside its module"
            )
        module, colon, name = self.import_path.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), name)):
            raise ValueError(f"import {self.import_path!r} names no class; write module:Class, such as models:Small")
        return self


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Variant:
    """A model that can answer queries of ``task``; variants of one task are interchangeable.

    ``accuracy`` is a ratio between 0 and 1, measured on data that the training never saw: ``measured`` says how, None
    where it was only declared. ``labels`` gives the class name of each index, empty where there are none.
    ``max_batch`` bounds the rows of one run, and ``row_bytes`` is the memory that each of them takes while it runs,
    beside the model. ``options`` goes to the runtime as it is. ``lengths`` is needed where an input has an axis of any
    length, and has the tokens of texts counted where an input is BYTES.
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
    row_bytes: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = Field(default_factory=dict)
    measured: Measured | None = None
    lengths: Lengths | None = None

    @property
    def origin(self) -> AccuracyOrigin:
        """Where its accuracy comes from; that of a stacked ensemble is counted on recorded votes."""
        if self.runtime == STACKED:
            return AccuracyOrigin(AccuracySource.ESTIMATED)
        source = AccuracySource.DECLARED if self.measured is None else AccuracySource.MEASURED
        return AccuracyOrigin(source, self.measured)

    @model_validator(mode="after")
    def _artifact_of_its_kind(self) -> "Variant":
        if self.runtime == PYTHON and self.artifact.import_path is None:
            raise ValueError(
                f"variant {self.name!r}: runtime 'python' runs a class; give artifact: {{import: 'module:Class'}}"
            )
        if self.runtime != PYTHON and self.artifact.import_path is not None:
            raise ValueError(
                f"variant {self.name!r}: artifact.import names a class, and runtime {self.runtime!r} runs a file; use "
                "runtime: python, or give artifact.uri"
            )
        if self.runtime not in (PYTHON, STACKED) and not self.artifact.uri:
            raise ValueError(f"variant {self.name!r}: artifact.uri is missing")
        return self

    @field_validator("labels")
    @classmethod
    def _labels_differ(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        doubled = next((label for label in value if value.count(label) > 1), None)
        if doubled is not None:
            numbers = ", ".join(str(number) for number, label in enumerate(value) if label == doubled)
            raise ValueError(f"label {doubled!r} names the classes {numbers}; give each class a name of its own")
        return value

    @model_validator(mode="after")
    def _lengths_fit(self) -> "Variant":
        LengthRule.of(self.lengths, self.inputs, self.outputs)
        return self

    def within(self, batch_bytes: float) -> "Variant":
        """The same with batches of as many rows as that memory takes (Proteus, section 4); no fewer where nothing says
        what a row takes.

        Raises `ConfigError` where not one row fits.
        """
        if self.row_bytes is None or self.max_batch * self.row_bytes <= batch_bytes:
            return self
        rows = int(batch_bytes // self.row_bytes)
        if rows < 1:
            raise ConfigError(
                f"variant {self.name!r}: one row takes {self.row_bytes} bytes while it runs (row_bytes), and there are "
                f"{batch_bytes:.15g} for a batch"
            )
        return replace(self, max_batch=rows)

    @property
    def length_rule(self) -> LengthRule | None:
        """What queries of any length mean for its tensors; None where they have fixed sizes."""
        return LengthRule.of(self.lengths, self.inputs, self.outputs)

    @property
    def emulated(self) -> bool:
        """Whether it takes the time of a model and runs none, so that its answers mean nothing."""
        return self.runtime == EMULATED

    @property
    def accuracy_pct(self) -> float:
        """Accuracy in percent, as profiles in CSV print it."""
        return 100.0 * self.accuracy
