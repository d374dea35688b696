"""ONNX files, run by ONNX Runtime on the CPU or one CUDA device."""

from pathlib import Path
from typing import Any

from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.known_options import refuse_unknown_options
from deployments.runtimes.onnx.gpu_memory import gpu_bytes, session_sizes
from deployments.runtimes.onnx.onnx_session import MEMORY_PER_FILE_BYTE, check_names, open_session
from deployments.runtimes.onnx.sized_sessions import SizedSessions


class OnnxRuntime:
    """A `ModelRuntime` for one ``.onnx`` file; its tensors are matched by name."""

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        refuse_unknown_options(variant)
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._outputs = [spec.name for spec in variant.outputs]
        self._session: Any = None
        self._file_bytes: int | None = None  # of what is loaded, whatever becomes of the file
        self._gpu_bytes: int | None = None  # of what is loaded on a GPU

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        session = self._open()
        inputs = {spec.name for spec in self._variant.inputs}
        check_names(self._variant, "inputs", inputs, self._artifact, session.get_inputs())
        check_names(self._variant, "outputs", set(self._outputs), self._artifact, session.get_outputs())
        self._file_bytes = base.artifact_bytes(self._artifact)
        on_gpu = self._options.cuda_index is not None
        self._gpu_bytes = gpu_bytes(self._variant, self._artifact) if on_gpu else None
        self._session = session
        # the first run of a session is slow: no query should be in it
        for rows in session.sizes if isinstance(session, SizedSessions) else (base.TRIAL_ROWS,):
            base.trial_run(self, self._variant, rows)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        session = base.require_loaded(self._variant, self._session)
        outputs = dict(zip(self._outputs, session.run(self._outputs, inputs), strict=True))
        rows, length = len(next(iter(inputs.values()))), base.batch_length(self._variant, inputs)
        base.check_outputs(self._variant, outputs, rows, length)
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._session = self._file_bytes = self._gpu_bytes = None

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`; a session tells no sizes: those of the file, for each that is loaded.

        On a GPU with what a session takes beside its weights.
        """
        file_bytes = base.artifact_bytes(self._artifact) if self._file_bytes is None else self._file_bytes
        more_bytes = 0 if self._gpu_bytes is None else self._gpu_bytes - file_bytes
        return int(file_bytes * MEMORY_PER_FILE_BYTE) + more_bytes

    def _open(self) -> Any:
        """One session; on a GPU, where there are convolutions, one for each size of batch."""
        variant, file = self._variant, self._artifact
        sizes = None if self._options.cuda_index is None else session_sizes(variant, file)
        if sizes is None:
            return open_session(variant, file, self._options)
        return SizedSessions(lambda: open_session(variant, file, self._options), sizes)
