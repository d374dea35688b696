"""What the runtimes on PyTorch share: the device, the threads, and the size of a module."""

import torch

from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions

MEMORY_PER_WEIGHT_BYTE = 1.3
"""Weights are held once; the rest stands for activations of one batch and for what the allocator keeps back."""


def torch_device(options: RuntimeOptions) -> torch.device:
    """The device of ``options``; raises `ConfigError` where this machine has no such CUDA device."""
    index = options.cuda_index
    if index is None:
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= count:
        raise base.no_cuda(options, f"PyTorch {torch.__version__} sees {count} CUDA devices")
    return torch.device("cuda", index)


def use_threads(threads: int) -> None:
    """Bound the threads of operations that the calling thread starts.

    To be called in every run: OpenMP keeps the bound per calling thread.
    """
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


def module_bytes(module: torch.nn.Module) -> int:
    """Bytes of a module's parameters and buffers, and the overhead of running it."""
    weights = [*module.parameters(), *module.buffers()]
    return int(sum(tensor.nbytes for tensor in weights) * MEMORY_PER_WEIGHT_BYTE)


def release_cached(options: RuntimeOptions) -> None:
    """Give the memory of dropped tensors back to the device; on the CPU the allocator does that by itself."""
    if options.cuda_index is not None:
        torch.cuda.empty_cache()
