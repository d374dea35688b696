"""Programs of ``torch.export.save``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from catalog.errors import ConfigError
from deployments.runtimes.base import Tensors, one_line
from serve_app.cli.init.reading.described import Axis, Described, Sizes, datatype_of, input_of, named_axes, outputs_of


def read_exported(path: Path, sizes: Sizes) -> Described:
    """What an exported program takes, as it says, and gives, as a trial tells; raises `ConfigError`.

    Its inputs are taken by position. Outputs without names are called ``output``, or ``output_0`` and so on.
    """
    try:
        with path.open("rb") as file:
            program = torch.export.load(file)
    except Exception as error:  # torch raises whatever its pickles and parsers do
        raise ConfigError(f"{path} is no exported program that this PyTorch can load: {one_line(error)}") from error
    examples = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs, shapes = [], []
    for name in program.graph_signature.user_inputs:
        example = examples.get(name)
        if not isinstance(example, torch.Tensor):
            raise ConfigError(f"{path}: input {name!r} is a {type(example).__name__}, and has to be a tensor")
        try:
            dtype = torch.empty(0, dtype=example.dtype).numpy().dtype
        except TypeError as error:
            raise ConfigError(f"{path}: input {name!r} is {example.dtype}, and numpy has no such type") from error
        axes = [_axis(size) for size in example.shape]
        shapes.append(axes)
        inputs.append(input_of(path, name, datatype_of(path, f"input {name!r}", dtype), axes, sizes))
    module = program.module()

    def run(arrays: Tensors) -> dict[str, Any]:
        with torch.inference_mode():
            return _by_name(module(*(torch.from_numpy(array) for array in arrays.values())))

    return Described("torch", tuple(inputs), outputs_of(path, run, inputs), axes=named_axes(shapes))


def _axis(size: Any) -> Axis:
    return size if isinstance(size, int) else str(size)


def _by_name(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {str(name): tensor.numpy() for name, tensor in given.items()}
    if isinstance(given, tuple | list) and len(given) > 1:
        return {f"output_{number}": tensor.numpy() for number, tensor in enumerate(given)}
    (only,) = given if isinstance(given, tuple | list) else (given,)
    return {"output": only.numpy()}
