"""ONNX files, run by ONNX Runtime on the CPU or one CUDA device."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from catalog.errors import ArtifactError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors

MEMORY_PER_FILE_BYTE = 2.0
"""An ONNX file is nearly all weights. They are held once as read; the second part stands for the copies that
kernels pack for themselves when the session starts, and for the arena of intermediate tensors."""

CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"


class OnnxRuntime:
    """A `ModelRuntime` for one ``.onnx`` file; its tensors are matched by name."""

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._outputs = [spec.name for spec in variant.outputs]
        self._session: Any = None

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        providers = self._providers()
        try:
            session = ort.InferenceSession(str(self._artifact), self._session_options(), providers=providers)
        except Exception as error:  # ONNX Runtime's errors share no base class of their own
            raise base.load_error(self._variant, self._artifact, error) from error
        if self._options.cuda_index is not None and CUDA not in session.get_providers():
            # it falls back to the CPU without raising; only its log names the library or device that it missed
            raise base.no_cuda(self._options, "ONNX Runtime could not start on it (its log lines above say why)")
        self._check_names(session)
        self._session = session
        base.trial_run(self, self._variant)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        session = base.require_loaded(self._variant, self._session)
        outputs = dict(zip(self._outputs, session.run(self._outputs, inputs), strict=True))
        base.check_outputs(self._variant, outputs, len(next(iter(inputs.values()))))
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._session = None

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`; the same before and after loading, since a session tells no sizes."""
        return int(base.artifact_bytes(self._artifact) * MEMORY_PER_FILE_BYTE)

    def _providers(self) -> list[Any]:
        index = self._options.cuda_index
        if index is None:
            return [CPU]
        if CUDA not in ort.get_available_providers():
            raise base.no_cuda(self._options, "this build of ONNX Runtime has no CUDA (onnxruntime-gpu has)")
        ort.preload_dlls()  # finds the CUDA libraries that pip installed, which the loader would not
        return [(CUDA, {"device_id": str(index)}), CPU]

    def _session_options(self) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._options.threads
        options.inter_op_num_threads = 1
        # idle threads that spin take the cores from the other variants of this machine
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return options

    def _check_names(self, session: Any) -> None:
        for side, specs, nodes in (
            ("inputs", self._variant.inputs, session.get_inputs()),
            ("outputs", self._variant.outputs, session.get_outputs()),
        ):
            wanted, had = {spec.name for spec in specs}, {node.name for node in nodes}
            if wanted - had or (side == "inputs" and had - wanted):  # a model may give more than is asked for
                raise ArtifactError(
                    f"variant {self._variant.name!r} names the {side} {', '.join(sorted(wanted))}, but "
                    f"{self._artifact.name} has {', '.join(sorted(had))}; correct the {side} in the catalogue"
                )
