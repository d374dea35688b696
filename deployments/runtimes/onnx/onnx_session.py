"""Sessions of ONNX Runtime on the CPU or one CUDA device, and what they are held to."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from catalog.errors import ArtifactError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions

MEMORY_PER_FILE_BYTE = 2.0
"""An ONNX file is nearly all weights. They are held once as read; the second part stands for the copies that
kernels pack for themselves when the session starts, and for the arena of intermediate tensors."""

CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"


def open_session(variant: Variant, file: Path, options: RuntimeOptions) -> Any:
    """A session of an ``.onnx`` file; raises `ArtifactError` or `ConfigError`."""
    providers = _providers(options)
    try:
        session = ort.InferenceSession(str(file), _session_options(options), providers=providers)
    except Exception as error:  # ONNX Runtime's errors share no base class of their own
        raise base.load_error(variant, file, error) from error
    if options.cuda_index is not None and CUDA not in session.get_providers():
        # it falls back to the CPU without raising; only its log names the library or device that it missed
        raise base.no_cuda(options, "ONNX Runtime could not start on it (its log lines above say why)")
    return session


def check_names(variant: Variant, side: str, wanted: set[str], file: Path, nodes: Any) -> None:
    """Hold a model's ``inputs`` or ``outputs`` to the names wanted; raises `ArtifactError`.

    A model may give more than is asked for, and take no more than that.
    """
    had = {node.name for node in nodes}
    if wanted - had or (side == "inputs" and had - wanted):
        raise ArtifactError(
            f"variant {variant.name!r} names the {side} {', '.join(sorted(wanted))}, but "
            f"{file.name} has {', '.join(sorted(had))}; correct the {side} in the catalogue"
        )


def _providers(options: RuntimeOptions) -> list[Any]:
    index = options.cuda_index
    if index is None:
        return [CPU]
    if CUDA not in ort.get_available_providers():
        raise base.no_cuda(options, "this build of ONNX Runtime has no CUDA (onnxruntime-gpu has)")
    ort.preload_dlls()  # finds the CUDA libraries that pip installed, which the loader would not
    # the exhaustive search, the default, takes seven times as long for each shape, and found nothing faster
    return [(CUDA, {"device_id": str(index), "cudnn_conv_algo_search": "HEURISTIC"}), CPU]


def _session_options(options: RuntimeOptions) -> Any:
    chosen = ort.SessionOptions()
    chosen.intra_op_num_threads = options.threads
    chosen.inter_op_num_threads = 1
    # idle threads that spin take the cores from the other variants of this machine
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return chosen
