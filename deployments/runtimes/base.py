"""What every runtime does, and the checks that hold a model to its entry in the catalogue."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from catalog.artifacts.external_data import external_files
from catalog.errors import AccordError, ArtifactError, ConfigError
from catalog.tensor import TensorSpec
from catalog.user_code.raised import text_of
from catalog.variant import Variant

Tensors = dict[str, NDArray[Any]]
"""Tensor name to array, whose first axis is the batch; BYTES is an object array of ``str``."""

TRIAL_ROWS = 2
"""Rows of the trial run: two, since one row would not show a model whose batch axis was fixed at 1."""

TRIAL_LENGTH = 3
"""Of the rows of the trial run where they may be of any length: not as many as rows, so that mixed-up axes show."""

_Model = TypeVar("_Model")


class ModelRuntime(Protocol):
    """One variant in the hands of one library.

    No method is thread safe: the owner calls them from one thread at a time, not always the same one.
    """

    def load(self) -> None:
        """Read the artifact and try it on `TRIAL_ROWS` rows of zeros (empty strings for BYTES).

        Raises `ArtifactError` where the file cannot be loaded or gives other tensors than the catalogue says,
        and `ConfigError` where an option or the device cannot be had; the runtime then stays unloaded.
        """

    def run(self, inputs: Tensors) -> Tensors:
        """Run one stacked batch; names, dtypes and item shapes are those of the variant's specs on both sides.

        The inputs are left as they are. Raises RuntimeError before `load` and after `unload`, `ArtifactError`
        where the outputs are not those of the catalogue; errors of the library pass through.
        """

    def unload(self) -> None:
        """Let go of the model and its memory. Does nothing where none is loaded; `load` may follow."""

    def memory_bytes(self) -> int:
        """Estimate of the resident memory of the loaded model; before `load`, estimated from the artifact's size.

        Raises `ArtifactError` before `load` where the artifact is missing.
        """


@dataclass(frozen=True)
class RuntimeOptions:
    """What a runtime may use. Raises `ConfigError` on a device or thread count that cannot be."""

    device: str = "cpu"
    """``cpu``, ``cuda`` (the first device) or ``cuda:N``; ``cuda-TYPE`` says what kind of GPU it is."""
    threads: int = 1
    """Threads that one run may compute with."""
    worker: str = ""
    """Id of the worker that the runtime is in; empty outside of a service."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"cpu(-[\w.-]+)?|cuda(-[\w.-]+)?(:\d+)?", self.device):
            raise ConfigError(f"device {self.device!r} is unknown; use cpu, cuda or cuda:N")
        if self.threads < 1:
            raise ConfigError(f"threads is {self.threads}; a runtime needs at least 1")

    @property
    def cuda_index(self) -> int | None:
        """Number of the CUDA device; None on the CPU."""
        kind, _, index = self.device.partition(":")
        return None if kind.startswith("cpu") else int(index or 0)


def no_cuda(options: RuntimeOptions, reason: str) -> ConfigError:
    """The error of a runtime that was asked for a CUDA device which it cannot use."""
    return ConfigError(f"device {options.device!r} was asked for, but {reason}; set the device to cpu, or add the GPU")


def load_error(variant: Variant, artifact: Path, error: Exception) -> ArtifactError:
    """The error of an artifact that its library refused."""
    return ArtifactError(
        f"variant {variant.name!r}: cannot load {artifact.name}: {one_line(error)}; "
        f"check that it is a model for runtime {variant.runtime!r}, and fetch it again"
    )


def one_line(error: BaseException) -> str:
    """The message of ``error`` on one line, or its type where it has none; a long one loses its middle."""
    text = " ".join(text_of(error).split()) or type(error).__name__
    # TorchScript puts a traceback into its message: what failed comes first, and why comes last
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-200:]}"


def reason(error: BaseException) -> str:
    """Type and message of an error on one line, for a client and a log."""
    return f"{type(error).__name__}: {one_line(error)}"


def not_measurable(variant: Variant, error: Exception) -> ArtifactError:
    """The error of a variant that was loaded, and raises on some number of rows."""
    return ArtifactError(
        f"variant {variant.name!r} cannot be measured: {reason(error)}; it must take any number of rows from 1 to "
        f"{variant.max_batch}; correct max_batch in the catalogue or the artifact"
    )


def require_loaded(variant: Variant, model: _Model | None) -> _Model:
    """``model`` if there is one; raises RuntimeError otherwise."""
    if model is None:
        raise RuntimeError(f"variant {variant.name!r} is not loaded; call load() before run()")
    return model


def artifact_bytes(artifact: Path) -> int:
    """Size of a file, with the weights that it keeps beside it, or of all files of a folder.

    Raises `ArtifactError` where there is neither.
    """
    if artifact.is_dir():
        return sum(file.stat().st_size for file in artifact.rglob("*") if file.is_file())
    try:
        return sum(file.stat().st_size for file in (artifact, *external_files(artifact)))
    except OSError as error:
        raise ArtifactError(f"cannot read artifact {error.filename}: {error.strerror}; fetch it first") from error


def trial_run(runtime: ModelRuntime, variant: Variant, most_rows: int = TRIAL_ROWS) -> None:
    """Run zeros through a runtime that was just loaded; unloads it and raises `ArtifactError` if that fails."""
    rows = min(most_rows, variant.max_batch)
    try:
        length = TRIAL_LENGTH if variant.lengths is None else min(TRIAL_LENGTH, variant.lengths.longest)
        runtime.run({spec.name: zeros(spec, rows, length) for spec in variant.inputs})
    except Exception as error:
        runtime.unload()
        if isinstance(error, AccordError):
            raise
        raise ArtifactError(
            f"variant {variant.name!r} failed its trial run on {rows} rows of zeros: {one_line(error)}; "
            f"it must take any number of rows of {expected(variant.inputs)}; correct the catalogue or the artifact"
        ) from error


def zeros(spec: TensorSpec, rows: int, length: int = 1) -> NDArray[Any]:
    """``rows`` rows of zeros, of empty strings for BYTES, of this length on an axis of any length."""
    return np.full((rows, *spec.item_shape_at(length)), "" if spec.datatype == "BYTES" else 0, dtype=spec.dtype)


def batch_length(variant: Variant, inputs: Tensors) -> int:
    """To what length a batch was padded; 1 where no input has an axis of any length."""
    mask = None if variant.lengths is None else variant.lengths.mask
    varying = ((spec, axis) for spec in variant.inputs if (axis := spec.length_axis) is not None and spec.name != mask)
    return next((int(inputs[spec.name].shape[axis]) for spec, axis in varying), 1)


def check_outputs(variant: Variant, outputs: Tensors, rows: int, length: int = 1) -> None:
    """Hold the outputs of ``rows`` rows to the variant's specs: names, dtypes, batch size and item shapes.

    An axis of any length must have ``length`` (`batch_length`). Raises `ArtifactError` saying what the catalogue
    promises and what the model gave.
    """
    if (found := other_outputs(variant, outputs, rows, length)) is not None:
        raise wrong_outputs(variant, found)


def other_outputs(variant: Variant, outputs: Tensors, rows: int, length: int = 1) -> str | None:
    """What outputs of ``rows`` rows are, in words, where they are not as the variant's specs say; else None."""
    wanted = {spec.name: (spec.dtype, (rows, *spec.item_shape_at(length))) for spec in variant.outputs}
    given = {name: (getattr(array, "dtype", None), getattr(array, "shape", None)) for name, array in outputs.items()}
    if given == wanted:
        return None
    found = ", ".join(
        f"{name} {array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else f"{name} {type(array)}"
        for name, array in outputs.items()
    )
    of_length = f" of length {length}" if any(spec.length_axis is not None for spec in variant.outputs) else ""
    return f"{found or 'nothing'} for {rows} rows{of_length}"


def wrong_outputs(variant: Variant, given: str) -> ArtifactError:
    """The error of a model whose outputs are not those of the catalogue; ``given`` says what they are."""
    return ArtifactError(
        f"variant {variant.name!r} should give {expected(variant.outputs)}, but its model gives {given}; "
        "correct the outputs in the catalogue or the artifact"
    )


def expected(specs: tuple[TensorSpec, ...]) -> str:
    """Tensors as messages name them: ``label INT64 (int64) [-1]``."""
    return ", ".join(f"{spec.name} {spec.datatype} ({spec.dtype}) {list(spec.shape)}" for spec in specs)
