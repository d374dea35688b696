"""ONNX files."""

from pathlib import Path

import numpy as np
import onnxruntime

from catalog.errors import ConfigError
from deployments.runtimes.base import Tensors, one_line
from serve_app.cli.init.reading.described import Described, Sizes, datatype_of, input_of, named_axes, outputs_of

_DTYPES = (
    {
        "tensor(bool)": np.bool_,
        "tensor(float16)": np.float16,
        "tensor(float)": np.float32,
        "tensor(double)": np.float64,
        "tensor(string)": np.object_,
    }
    | {f"tensor({kind})": np.dtype(kind) for kind in ("int8", "int16", "int32", "int64")}
    | {f"tensor({kind})": np.dtype(kind) for kind in ("uint8", "uint16", "uint32", "uint64")}
)


TENSOR = "tensor("
"""How the types of tensors begin; others are sequences and maps."""


def read_onnx(path: Path, sizes: Sizes) -> Described:
    """What an ONNX file takes, as it says, and gives, as a trial tells; raises `ConfigError`.

    Outputs that are no tensors, such as the maps of classifiers that skl2onnx exports, are left out.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has an exception for each kind of fault
        raise ConfigError(f"{path} is no ONNX model that ONNX Runtime can run: {one_line(error)}") from error
    inputs = []
    for each in session.get_inputs():
        if each.type not in _DTYPES:
            raise ConfigError(f"{path}: input {each.name!r} is a {each.type}, which no client can send")
        datatype = datatype_of(path, f"input {each.name!r}", np.dtype(_DTYPES[each.type]))
        inputs.append(input_of(path, each.name, datatype, each.shape, sizes))
    names = [each.name for each in session.get_outputs() if each.type.startswith(TENSOR)]
    if not names:
        kinds = ", ".join(f"{each.name} {each.type}" for each in session.get_outputs())
        raise ConfigError(f"{path} gives no tensor: {kinds}; export it without maps (skl2onnx: zipmap=False)")

    def run(arrays: Tensors) -> Tensors:
        return dict(zip(names, session.run(names, arrays), strict=True))

    axes = named_axes(each.shape for each in session.get_inputs())
    return Described("onnx", tuple(inputs), outputs_of(path, run, inputs), axes=axes)
