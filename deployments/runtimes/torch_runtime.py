"""PyTorch models that need no Python class: exported programs and TorchScript."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export.passes import move_to_device_pass

from catalog.artifacts.code import code_in
from catalog.artifacts.rules import EXPORTED_PROGRAM, TORCHSCRIPT
from catalog.errors import ConfigError
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.known_options import refuse_unknown_options
from deployments.runtimes.torch_device import (
    MEMORY_PER_WEIGHT_BYTE,
    module_bytes,
    release_cached,
    torch_device,
    use_threads,
)


class TorchRuntime:
    """A `ModelRuntime` for a file of ``torch.export.save`` or ``torch.jit.save``; its content tells which.

    The model takes its inputs by position, in the order of the variant's specs. It gives one tensor, a tuple or
    list in the order of the specs, or a dict by name.
    """

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        refuse_unknown_options(variant)
        texts = [spec.name for spec in variant.inputs + variant.outputs if spec.datatype == "BYTES"]
        if texts:
            raise ConfigError(
                f"variant {variant.name!r}: runtime 'torch' has no BYTES tensors ({', '.join(texts)}); "
                "use runtime 'onnx' or 'transformers' for text"
            )
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._device: Any = None
        self._module: Any = None

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        self._device = torch_device(self._options)
        use_threads(self._options.threads)
        try:
            self._module = _open(self._artifact, self._device)
        except Exception as error:  # torch raises whatever its pickles and parsers do
            raise base.load_error(self._variant, self._artifact, error) from error
        base.trial_run(self, self._variant)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        module = base.require_loaded(self._variant, self._module)
        use_threads(self._options.threads)
        rows = len(next(iter(inputs.values())))
        with torch.inference_mode():
            # a model may write into what it is given, which is the caller's and not a copy unless it goes to a GPU
            given = [np.array(inputs[spec.name], order="C") for spec in self._variant.inputs]
            arguments = [torch.from_numpy(array) for array in given]
            outputs = self._by_name(module(*(argument.to(self._device) for argument in arguments)))
        base.check_outputs(self._variant, outputs, rows, base.batch_length(self._variant, inputs))
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        if isinstance(self._module, torch.fx.GraphModule):
            self._module.to("meta")  # it is part of a cycle, which would keep the weights until some later collection
        self._module = None
        release_cached(self._options)

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`; both formats store weights as they are, so the file is about their size."""
        if self._module is None:
            return int(base.artifact_bytes(self._artifact) * MEMORY_PER_WEIGHT_BYTE)
        return module_bytes(self._module)

    def _by_name(self, given: Any) -> Tensors:
        names = [spec.name for spec in self._variant.outputs]
        if isinstance(given, Mapping):
            tensors = {name: given[name] for name in names if name in given}
            if len(tensors) < len(names):
                raise base.wrong_outputs(self._variant, f"a dict of {', '.join(map(str, given)) or 'nothing'}")
        else:
            found = list(given) if isinstance(given, tuple | list) else [given]
            if len(found) != len(names):
                raise base.wrong_outputs(self._variant, f"{len(found)} tensors")
            tensors = dict(zip(names, found, strict=True))
        odd = [f"{name} {type(value)}" for name, value in tensors.items() if not isinstance(value, torch.Tensor)]
        if odd:
            raise base.wrong_outputs(self._variant, ", ".join(odd))
        return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}


def _open(artifact: Path, device: torch.device) -> torch.nn.Module:
    """The model on ``device``. Both formats are zip archives with one top folder, told apart by its files."""
    kinds = code_in(artifact)
    if EXPORTED_PROGRAM in kinds:
        return _open_exported(artifact, device)
    if TORCHSCRIPT in kinds:
        return _open_torchscript(artifact, device)
    raise ValueError("it is neither an exported program nor TorchScript; save it with torch.export.save")


def _open_exported(artifact: Path, device: torch.device) -> torch.nn.Module:
    with artifact.open("rb") as file:  # a path would have to end in .pt2
        program = torch.export.load(file)
    # Module.to would leave behind the constants, and the devices that operators name
    return move_to_device_pass(program, device).module()


def _open_torchscript(artifact: Path, device: torch.device) -> torch.nn.Module:
    with warnings.catch_warnings():
        # deprecated, but models in this format are still handed around and torch still reads them
        warnings.filterwarnings("ignore", r"`torch\.jit\.load` is deprecated", DeprecationWarning)
        return torch.jit.load(str(artifact), map_location=device).eval()
